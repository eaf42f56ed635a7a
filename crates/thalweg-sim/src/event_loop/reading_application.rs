//! Reads of applications with a configured read rate.

use super::EventLoop;
use crate::components::connection_endpoint::Command;
use crate::components::flow_state::NO_CONNECTION;
use crate::components::reading_application::{READ_FLAG, ReadStep};
use crate::event_kinds::EventKind;
use crate::packet_tracing::Tracing;
use thalweg_proto::endpoint::Notice;
use thalweg_proto::units::Time;

impl<T: Tracing> EventLoop<T> {
    /// Buffers data delivered at the sink for an application with a read rate.
    pub(crate) fn keep_for_reader(&mut self, flow: u32, bytes: u64) {
        let Some(reader) = self.traffic.flows[flow as usize].reader_mut() else { return };
        reader.on_delivered(bytes);
        // The loop that already runs handles the immediate consequences of reading.
        if !reader.is_stepping {
            self.go_on_reading(flow);
        }
    }

    /// Handles an application's read timer.
    pub(crate) fn on_reading(&mut self, flow: u32) {
        let Some(reader) = self.traffic.flows[flow as usize].reader_mut() else { return };
        // An earlier event may have replaced this one.
        if reader.timer_at == self.now {
            reader.timer_at = Time::MAX;
            self.go_on_reading(flow);
        }
    }

    fn go_on_reading(&mut self, flow: u32) {
        loop {
            let main = self.traffic.flows[flow as usize].main;
            let Some(reader) = self.traffic.flows[flow as usize].reader_mut() else { return };
            let step = reader.step(self.now);
            reader.is_stepping = !matches!(step, ReadStep::Wait(_));
            let is_last = reader.is_ending && reader.unread == 0;
            match step {
                ReadStep::Read(bytes) => {
                    self.command(main * 2 + 1, Command::Consumed(bytes));
                    self.on_read(main, bytes);
                    if is_last {
                        self.end_main(main);
                    }
                }
                ReadStep::Announce => self.announce_reading(flow),
                ReadStep::Wait(at) => {
                    if at < reader.timer_at {
                        reader.timer_at = at;
                        self.wheel.push(at, EventKind::Application.key(flow | READ_FLAG));
                    }
                    break;
                }
            }
        }
        if self.measurements.series.has_changes_of(flow) {
            self.record_flow_change(flow);
        }
    }

    /// Announces an application's read rate to its receiver, if there is anything to announce.
    pub(crate) fn announce_reading(&mut self, flow: u32) {
        let state = &self.traffic.flows[flow as usize];
        let announced = state.reader().and_then(|reader| reader.announced);
        let transport = self.traffic.transport_of(flow);
        let share = announced.and_then(|rate| transport.reading_share(rate));
        if let Some(share) = share.filter(|_| state.main != NO_CONNECTION) {
            let id = state.main * 2 + 1;
            if let Some(end) = self.connections.endpoint_mut(id).engine.end_mut() {
                end.notify(Notice::ReadingShare(share));
            }
            self.drain(id);
        }
    }
}
