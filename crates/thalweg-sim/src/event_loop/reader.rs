//! Applications that read what is delivered to them at their own pace.

use super::EventLoop;
use crate::event::Kind;
use crate::parts::endpoint::Command;
use crate::parts::flow::NO_CONNECTION;
use crate::parts::reader::{READS, ReadStep};
use crate::tracing::Tracing;
use thalweg_proto::units::Time;

impl<T: Tracing> EventLoop<T> {
    /// The sink of a flow got data that its application reads at its own pace.
    pub(crate) fn keep_for_reader(&mut self, flow: u32, bytes: u64) {
        let Some(reader) = self.flows[flow as usize].reader_mut() else { return };
        reader.keep(bytes);
        // What reading leads to at once is for the loop that runs already.
        if !reader.stepping {
            self.go_on_reading(flow);
        }
    }

    /// The time has come for an application to read.
    pub(crate) fn on_reading(&mut self, flow: u32) {
        let Some(reader) = self.flows[flow as usize].reader_mut() else { return };
        // An earlier event may have replaced this one.
        if reader.armed == self.now {
            reader.armed = Time::MAX;
            self.go_on_reading(flow);
        }
    }

    fn go_on_reading(&mut self, flow: u32) {
        loop {
            let main = self.flows[flow as usize].main;
            let Some(reader) = self.flows[flow as usize].reader_mut() else { return };
            let step = reader.step(self.now);
            reader.stepping = !matches!(step, ReadStep::Wait(_));
            let is_last = reader.ending && reader.unread == 0;
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
                    if at < reader.armed {
                        reader.armed = at;
                        self.wheel.push(at, Kind::Application.key(flow | READS));
                    }
                    break;
                }
            }
        }
        if self.is_watched(flow) {
            self.record_flow_change(flow);
        }
    }

    /// An application tells its receiver how fast it reads, if it has anything to say.
    pub(crate) fn announce_reading(&mut self, flow: u32) {
        let state = &self.flows[flow as usize];
        let announced = state.reader().and_then(|reader| reader.announced);
        let transport = &self.transports[self.groups[state.group as usize].transport as usize];
        let share = announced.and_then(|rate| transport.reading_share(rate));
        if let Some(share) = share.filter(|_| state.main != NO_CONNECTION) {
            let id = state.main * 2 + 1;
            if let Some(end) = self.endpoints[id as usize].engine.end_mut() {
                end.set_reading_share(share);
            }
            self.drain(id);
        }
    }
}
