//! SSCOP's parameters.

use super::super::keys::{Common, Sscop, SscopRate};
use super::super::quantity::{Number, Packets};
use super::super::table::{At, Fields};
use super::Resolver;
use std::sync::Arc;
use thalweg_proto::sscop::rate::RateConfig;
use thalweg_proto::sscop::{Config, EndpointConfig, MAX_MESSAGE, MAX_UU, TimerConfig};
use thalweg_proto::units::{Bytes, Rate};
use thalweg_sim::spec::TransportSpec;

/// At the UNI.
const USUAL_K: u32 = 4096;
/// Windows are less than half of the 24-bit numbers.
const MAX_WINDOW: f64 = 8_388_607.0;

impl Resolver<'_> {
    /// Plain SSCOP.
    pub(super) fn sscop(
        &mut self,
        scheme: String,
        table: Sscop,
        shared: Option<&Common>,
    ) -> Option<TransportSpec> {
        self.sscop_with(scheme, table, shared, |_| None)
    }

    /// SSCOP with rate control, whose rules are `rules` where the table does not say otherwise.
    pub(super) fn sscop_rate(
        &mut self,
        scheme: String,
        mut table: SscopRate,
        rules: RateConfig,
        shared: Option<&Common>,
    ) -> Option<TransportSpec> {
        table.inherit_own(Fields::defaults());
        let gain = self.above_zero(table.gain.as_ref(), 1.0, "gain").unwrap_or(rules.gain);
        let growth = table.growth.as_ref().map(|at| {
            if at.value.0 < 1.0 {
                self.report.error("scenario.range", at.span, "growth is at least 1");
            }
            at.value.0
        });
        let rules = RateConfig {
            start: table.start_rate.as_ref()?.value,
            most: table.max_rate.as_deref().copied().unwrap_or(Rate::MAX),
            unit: table.unit.as_ref()?.value.0,
            probing: table.probing.as_ref()?.value.0,
            alpha: table.alpha.as_ref()?.value.0,
            base: table.base_rate.as_ref().map_or(rules.base, |at| at.value.0),
            gain,
            growth: growth.or(rules.growth),
            poll_behind_data: table.poll_behind_data.as_deref().copied().unwrap_or(rules.poll_behind_data),
            keep_records: table.keep_records.as_deref().copied().unwrap_or(rules.keep_records),
            poll_floor: table.poll_floor.as_ref()?.value,
            poll_ceiling: table.poll_ceiling.as_ref()?.value,
            drain: table.drain.as_deref().copied(),
            jitter: table.jitter.as_ref()?.value,
            ..rules
        };
        if let Some(at) = table.drain.as_ref().filter(|at| at.value.is_zero()) {
            self.report
                .error("scenario.range", at.span, "a queue cannot be drained every 0 s")
                .help("sources never make room without `drain`");
        }
        if let Some(at) = table.start_rate.as_ref().filter(|at| at.value.is_zero()) {
            self.report.error("scenario.range", at.span, "a rate of zero never sends");
        }
        if let Some(at) = table.max_rate.as_ref().filter(|at| at.value < rules.start) {
            self.report.error("scenario.range", at.span, "max-rate is below start-rate");
        }
        // The size of a PDU is known when the rest is.
        self.sscop_with(scheme, table.sscop, shared, |pdu| Some(RateConfig { pdu, ..rules }))
    }

    fn above_zero(&mut self, at: Option<&At<Number>>, most: f64, what: &str) -> Option<f64> {
        let at = at?;
        if !(at.value.0 > 0.0 && at.value.0 <= most) {
            self.report.error("scenario.range", at.span, format!("{what} lies above 0, up to {most}"));
        }
        Some(at.value.0)
    }

    fn sscop_with(
        &mut self,
        scheme: String,
        mut table: Sscop,
        shared: Option<&Common>,
        rate: impl FnOnce(u32) -> Option<RateConfig>,
    ) -> Option<TransportSpec> {
        if let Some(shared) = shared {
            table.sizes.inherit(&shared.sizes);
        }
        table.inherit_own(Fields::defaults());
        let (segment, header) = self.sizes(&table.sizes, 1468, 28)?;
        let k = match &table.k {
            Some(k) => self.octets(k, MAX_MESSAGE, "k")?,
            None => segment.clamp(USUAL_K, MAX_MESSAGE),
        };
        let j = self.octets(table.j.as_ref()?, MAX_UU, "j")?;
        if segment > k {
            let span =
                table.k.as_ref().map(|at| at.span).or(table.sizes.segment.as_ref().map(|at| at.span))?;
            let message = format!("messages of {segment} B are longer than k, which is {k} B");
            self.report.error("scenario.range", span, message);
        }
        for (count, what, least) in [(&table.max_cc, "max-cc", 1), (&table.max_pd, "max-pd", 1)] {
            if let Some(at) = count.as_ref().filter(|at| at.value < least) {
                self.report.error("scenario.range", at.span, format!("{what} must be at least {least}"));
            }
        }
        let max_stat = table.max_stat.as_ref()?;
        if !(3..=16_379).contains(&max_stat.value) || max_stat.value % 2 == 0 {
            self.report.error("scenario.range", max_stat.span, "max-stat is odd, 3 to 16379");
        }
        let timers = TimerConfig {
            cc: table.timer_cc.as_ref()?.value,
            poll: table.timer_poll.as_ref()?.value,
            keep_alive: table.timer_keep_alive.as_ref()?.value,
            no_response: table.timer_no_response.as_ref()?.value,
            idle: table.timer_idle.as_ref()?.value,
        };
        let durations = [
            &table.timer_cc,
            &table.timer_poll,
            &table.timer_keep_alive,
            &table.timer_no_response,
            &table.timer_idle,
        ];
        for at in durations.into_iter().flatten().filter(|at| at.value.is_zero()) {
            self.report.error("scenario.range", at.span, "a timer must be above zero");
        }
        if timers.no_response <= timers.poll.max(timers.keep_alive) {
            let span = table.timer_no_response.as_ref()?.span;
            let message = "timer-no-response is longer than timer-poll and timer-keep-alive";
            self.report.error("scenario.range", span, message);
        }
        let config = Config {
            k,
            j,
            max_cc: table.max_cc.as_ref()?.value,
            max_pd: table.max_pd.as_ref()?.value,
            max_stat: max_stat.value,
            window: self.messages(table.window.as_ref())?,
            buffer: self.messages(table.buffer.as_ref())?,
            timers,
            poll_after_retransmission: table.poll_after_retransmission.as_ref()?.value,
            ignore_old_data: table.ignore_old_data.as_ref()?.value,
            rate: rate(segment.next_multiple_of(4) + 4),
            ..Config::default()
        };
        let config = EndpointConfig { sscop: Arc::new(config), segment };
        Some(TransportSpec::Sscop { scheme, config, header })
    }

    /// A window in messages.
    fn messages(&mut self, at: Option<&At<Packets>>) -> Option<u32> {
        let at = at?;
        if at.value.0 < 1.0 || at.value.0 > MAX_WINDOW {
            let message = format!("a window of SSCOP has 1 to {MAX_WINDOW} messages");
            self.report.error("scenario.window", at.span, message);
        }
        Some(at.value.0 as u32)
    }

    fn octets(&mut self, at: &At<Bytes>, most: u32, what: &str) -> Option<u32> {
        let octets = u32::try_from(at.value.get()).ok().filter(|octets| *octets <= most);
        if octets.is_none() {
            self.report.error("scenario.range", at.span, format!("{what} is at most {most} B"));
        }
        octets
    }
}
