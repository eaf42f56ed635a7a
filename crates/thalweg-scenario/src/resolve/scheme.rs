//! Schemes: which transport with which parameters.

use super::super::keys::{
    AdaptiveAck, Common, DelayedAckChoice, DelayedAckTable, Document, GrowthWord, RecoveryName, Rto,
    SchemeRef, SchemeTable, Sizes,
};
use super::super::quantity::Packets;
use super::super::source::Span;
use super::super::table::{At, Fields};
use super::Resolver;
use super::line::small;
use thalweg_proto::aack;
use thalweg_proto::congestion::{
    BbnConfig, ControllerConfig, CubicConfig, DecBitConfig, FeedbackKind, FixedConfig, Growth, NewRenoConfig,
    SeifConfig, SlowStartConfig, SourceQuenchConfig, TriSConfig, VegasConfig,
};
use thalweg_proto::sscop::rate::RateConfig;
use thalweg_proto::units::{Bytes, Duration};
use thalweg_proto::window::{
    DelayedAck, PauseConfig, RackConfig, ReceiverConfig, Recovery, RttConfig, SenderConfig,
};
use thalweg_sim::spec::TransportSpec;

impl Resolver<'_> {
    /// The transport of a flow.
    pub(super) fn transport(&mut self, scheme: &At<SchemeRef>, document: &Document) -> Option<TransportSpec> {
        let (name, table, span) = match &scheme.value {
            SchemeRef::Name(name) => {
                let name = name.0.clone();
                self.used_schemes.insert(name.clone());
                match self.schemes.get(&name) {
                    Some(Some(table)) => (name, table.value.clone(), table.span),
                    Some(None) => return None, // Wrong, and said so.
                    None => match SchemeTable::builtin(&name) {
                        Some(table) => (name, table, scheme.span),
                        None => {
                            let own = self.schemes.keys().map(String::as_str);
                            let valid = SchemeTable::KINDS.iter().copied().chain(own);
                            let message = format!("there is no scheme `{name}`");
                            self.report
                                .error("scenario.unknown-name", scheme.span, message)
                                .names(&name, valid);
                            return None;
                        }
                    },
                }
            }
            SchemeRef::Table(name, table) => (name.0.clone(), table.clone(), scheme.span),
        };
        let shared = document.defaults.as_ref().and_then(|defaults| defaults.scheme.as_ref());
        self.build(name, table, shared.map(|at| &at.value), span)
    }

    fn build(
        &mut self,
        scheme: String,
        table: SchemeTable,
        shared: Option<&Common>,
        span: Span,
    ) -> Option<TransportSpec> {
        if let SchemeTable::Datagram(mut udp) = table {
            if let Some(shared) = shared {
                udp.sizes.inherit(&shared.sizes);
            }
            let (segment, header) = self.sizes(&udp.sizes, 1472, 28)?;
            let rate = udp.rate.as_deref().copied();
            return Some(TransportSpec::Datagram { scheme, segment, header, rate });
        }
        let table = match table {
            SchemeTable::AdaptiveAck(table) => return self.adaptive_ack(scheme, *table, shared),
            SchemeTable::Sscop(table) => return self.sscop(scheme, *table, shared),
            SchemeTable::SscopRate(table) => {
                return self.sscop_rate(scheme, *table, RateConfig::amended(), shared);
            }
            SchemeTable::SscopRateLiteral(table) => {
                return self.sscop_rate(scheme, *table, RateConfig::literal(), shared);
            }
            SchemeTable::Sstp(table) => return self.sstp(scheme, *table, shared, span),
            table => table,
        };
        let mut common = table.common()?.clone();
        let own_ecn = common.ecn.as_ref().filter(|ecn| ecn.value).map(|ecn| ecn.span);
        let own_rack = common.rack.as_ref().filter(|rack| rack.value).map(|rack| rack.span);
        if let Some(shared) = shared {
            common.complete(shared);
        }
        common.inherit(Common::defaults());
        let sizes = self.sizes(&common.sizes, 1448, 52);
        let is_quenched = matches!(table, SchemeTable::SourceQuench(_));
        let fine_timer = match &table {
            SchemeTable::Vegas(table) => table.fine_timer.as_deref().copied().unwrap_or_default(),
            _ => false,
        };
        // What is wrong with either is told before giving up.
        let header = sizes.map_or(0, |(_, header)| header);
        let (controller, recovery) = self.controller(table, &common, header)?;
        if let Some(span) = own_ecn.filter(|_| !controller.answers_marks()) {
            self.answers_no_marks(&scheme, &controller, span);
        }
        let (segment, header) = sizes?;
        let ack = match &common.ack {
            Some(at) => small(at.value).or_else(|| self.bad_size(at, "an acknowledgement")),
            None => Some(header),
        }?;
        let recovery = common.recovery.as_deref().map_or(recovery, |&RecoveryName(recovery)| recovery);
        // Quenches and the rule against small packets are one memorandum's (RFC 896).
        let nagle = common.nagle.as_deref().copied().unwrap_or(is_quenched);
        let sender = self.sender(&common, segment, recovery, span)?;
        // From shared settings the option is for those who can.
        let ecn = sender.ecn && controller.answers_marks();
        let rack = sender.rack.filter(|_| recovery == Recovery::Sack);
        if let Some(span) = own_rack.filter(|_| rack.is_none()) {
            let message =
                "losses are found by time from selective acknowledgements, of which this recovery has none";
            self.report.error("scenario.range", span, message).help("set recovery = \"sack\"");
        }
        let receiver = self.receiver(&common, segment, recovery)?;
        let max_ack_delay = receiver.delayed_ack.map_or(Duration::ZERO, |delayed| delayed.delay);
        let rack = rack.map(|rack| RackConfig { max_ack_delay, ..rack });
        let sender = SenderConfig { nagle, fine_timer, ecn, rack, ..sender };
        let receiver = ReceiverConfig { report_arrivals: rack.is_some(), ..receiver };
        Some(TransportSpec::Window { scheme, sender, receiver, controller, header, ack })
    }

    /// `ecn` at a scheme that does not take marks for losses.
    fn answers_no_marks(&mut self, scheme: &str, controller: &ControllerConfig, span: Span) {
        let message = format!("`{scheme}` does not take marks for losses");
        let help = if controller.feedback() == Some(FeedbackKind::DecBit) {
            "it has its own answer to marks, and its packets may always be marked: leave `ecn` out"
        } else {
            "slow-start, newreno, vegas and cubic do; packets of others are never marked by a queue"
        };
        self.report.error("scenario.scheme", span, message).help(help);
    }

    fn adaptive_ack(
        &mut self,
        scheme: String,
        mut table: AdaptiveAck,
        shared: Option<&Common>,
    ) -> Option<TransportSpec> {
        if let Some(shared) = shared {
            table.sizes.inherit(&shared.sizes);
            if table.ack.is_none() {
                table.ack.clone_from(&shared.ack);
            }
        }
        table.inherit_own(Fields::defaults());
        let (segment, header) = self.sizes(&table.sizes, 1008, 16)?;
        let ack = match &table.ack {
            Some(at) => small(at.value).or_else(|| self.bad_size(at, "a report")),
            None => Some(32),
        }?;
        for at in [&table.t_normal, &table.t_error].into_iter().flatten().filter(|at| at.value.is_zero()) {
            self.report.error("scenario.range", at.span, "the time between two reports is above 0");
        }
        let window = self.window(&table.window)?;
        // Without a bound a bulk transfer would send, and keep, all there is in its first moment.
        if window > f64::from(aack::MAX_WINDOW)
            && let Some(at) = &table.window
        {
            let message =
                format!("a window of adaptive acknowledgement has at most {} packets", aack::MAX_WINDOW);
            self.report.error("scenario.window", at.span, message);
            return None;
        }
        let window = window as u32;
        let (normal, error) = (table.t_normal.as_ref()?.value, table.t_error.as_ref()?.value);
        let config = aack::Config { segment, window, normal, error };
        Some(TransportSpec::AdaptiveAck { scheme, config, header, ack })
    }

    /// Segment and header in bytes.
    pub(super) fn sizes(&mut self, sizes: &Sizes, segment: u32, header: u32) -> Option<(u32, u32)> {
        let segment = match &sizes.segment {
            Some(at) => small(at.value).filter(|&size| size > 0).or_else(|| self.bad_size(at, "a segment")),
            None => Some(segment),
        };
        let header = match &sizes.header {
            Some(at) => small(at.value).or_else(|| self.bad_size(at, "a header")),
            None => Some(header),
        };
        Some((segment?, header?))
    }

    pub(super) fn bad_size(&mut self, at: &At<Bytes>, what: &str) -> Option<u32> {
        let least = if what == "a segment" { 1 } else { 0 };
        self.report.error("scenario.range", at.span, format!("{what} has {least} B to 1 MiB"));
        None
    }

    /// The controller and the scheme's own way of recovery; `common` is complete.
    fn controller(
        &mut self,
        table: SchemeTable,
        common: &Common,
        header: u32,
    ) -> Option<(ControllerConfig, Recovery)> {
        let max_window = common.max_window.as_ref()?.value.0;
        let windows =
            |initial: &Option<At<Packets>>, threshold: &Option<At<Packets>>, resolver: &mut Self| {
                let initial = resolver.window(initial)?;
                Some((initial, resolver.window(threshold)?))
            };
        Some(match table {
            SchemeTable::Fixed(mut fixed) => {
                fixed.inherit_own(Fields::defaults());
                let window = self.window(&fixed.window)?;
                (ControllerConfig::Fixed(FixedConfig { window }), Recovery::GoBackN)
            }
            SchemeTable::SlowStart(mut table) => {
                table.inherit_own(Fields::defaults());
                let (initial_window, initial_threshold) =
                    windows(&table.initial_window, &table.initial_threshold, self)?;
                let growth = match table.growth.as_ref()?.value.0 {
                    GrowthWord::Fractional => Growth::Fractional,
                    GrowthWord::Counted => Growth::Counted { max_window },
                };
                let controller = ControllerConfig::SlowStart(SlowStartConfig {
                    initial_window,
                    initial_threshold,
                    growth,
                });
                (controller, Recovery::GoBackN)
            }
            SchemeTable::NewReno(mut table) => {
                table.inherit_own(Fields::defaults());
                let (initial_window, initial_threshold) =
                    windows(&table.initial_window, &table.initial_threshold, self)?;
                let controller =
                    ControllerConfig::NewReno(NewRenoConfig { initial_window, initial_threshold });
                (controller, Recovery::Sack)
            }
            SchemeTable::Vegas(mut table) => {
                table.inherit_own(Fields::defaults());
                let (initial_window, initial_threshold) =
                    windows(&table.initial_window, &table.initial_threshold, self)?;
                let packets = |at: &Option<At<Packets>>| at.as_ref().map_or(0.0, |at| at.value.0);
                let (alpha, beta, gamma) =
                    (packets(&table.alpha), packets(&table.beta), packets(&table.gamma));
                if let Some(at) = table.alpha.as_ref().filter(|_| alpha > beta) {
                    self.report.error("scenario.range", at.span, "alpha is larger than beta");
                }
                let controller = ControllerConfig::Vegas(VegasConfig {
                    initial_window,
                    initial_threshold,
                    alpha,
                    beta,
                    gamma,
                });
                (controller, Recovery::Sack)
            }
            SchemeTable::Cubic(mut table) => {
                table.inherit_own(Fields::defaults());
                let (initial_window, initial_threshold) =
                    windows(&table.initial_window, &table.initial_threshold, self)?;
                let (c, beta) = (table.c.as_ref()?, table.beta.as_ref()?);
                if c.value.0 <= 0.0 {
                    self.report.error("scenario.range", c.span, "c is above 0");
                }
                if !(beta.value.0 > 0.0 && beta.value.0 < 1.0) {
                    let help = "RFC 9438 multiplies the window by 0.7 at a loss";
                    self.report.error("scenario.range", beta.span, "beta lies between 0 and 1").help(help);
                }
                let controller = ControllerConfig::Cubic(CubicConfig {
                    initial_window,
                    initial_threshold,
                    c: c.value.0,
                    beta: beta.value.0,
                    fast_convergence: table.fast_convergence.as_ref().is_none_or(|at| at.value),
                });
                (controller, Recovery::Sack)
            }
            SchemeTable::Seif(mut table) => {
                table.inherit_own(Fields::defaults());
                let initial_window = self.window(&table.initial_window)?;
                let initial_threshold = match &table.initial_threshold {
                    None => max_window / 2.0,
                    threshold => self.window(threshold)?,
                };
                let (cut_back, growth) = (table.cut_back.as_ref()?, table.growth_windows.as_ref()?);
                if cut_back.value.0 >= 1.0 {
                    let help =
                        "the thesis cuts to 0.5 of the window; 0 leaves one packet, and 1 would be no cut";
                    self.report.error("scenario.range", cut_back.span, "cut-back is below 1").help(help);
                }
                if growth.value == 0 {
                    self.report.error("scenario.range", growth.span, "growth-windows is at least 1");
                }
                let controller = ControllerConfig::Seif(SeifConfig {
                    initial_window,
                    initial_threshold,
                    max_window,
                    cut_back: cut_back.value.0,
                    growth_windows: growth.value,
                    follow: table.follow.as_ref()?.value.0,
                });
                (controller, Recovery::FastRetransmit)
            }
            SchemeTable::DecBit(mut table) => {
                table.inherit_own(Fields::defaults());
                let initial_window = self.window(&table.initial_window)?;
                let (increase, decrease) = (table.increase.as_ref()?, table.decrease.as_ref()?);
                if !(0.0..=1.0).contains(&decrease.value.0) {
                    let help = "the paper leaves 0.875 of the window";
                    self.report
                        .error("scenario.range", decrease.span, "decrease lies from 0 to 1")
                        .help(help);
                }
                let controller = ControllerConfig::DecBit(DecBitConfig {
                    initial_window,
                    max_window,
                    increase: increase.value.0,
                    decrease: decrease.value.0,
                    share: table.share.as_ref()?.value.0,
                });
                (controller, Recovery::GoBackN)
            }
            SchemeTable::TriS(mut table) => {
                table.inherit_own(Fields::defaults());
                let (decrease, increase) = (table.ntg_d.as_ref()?, table.ntg_i.as_ref()?);
                for ntg in [decrease, increase] {
                    if ntg.value.0 < 0.0 {
                        let help = "the gradient is 1 while a packet more brings what the first brought, 0 when it brings nothing";
                        let message = "a threshold of the normalised throughput gradient is not negative";
                        self.report.error("scenario.range", ntg.span, message).help(help);
                    }
                }
                let controller = ControllerConfig::TriS(TriSConfig {
                    max_window,
                    decrease_below: decrease.value.0,
                    increase_above: increase.value.0,
                });
                (controller, Recovery::GoBackN)
            }
            SchemeTable::SourceQuench(mut table) => {
                table.inherit_own(Fields::defaults());
                let window = self.window(&table.window)?;
                let acks = table.resume_after.as_ref()?;
                if acks.value == 0 {
                    let help = "with 0 a quench would close nothing; Nagle waits for 10 acknowledgements";
                    self.report.error("scenario.range", acks.span, "resume-after is at least 1").help(help);
                }
                let acks = acks.value;
                (ControllerConfig::SourceQuench(SourceQuenchConfig { window, acks }), Recovery::GoBackN)
            }
            SchemeTable::Bbn(mut table) => {
                table.inherit_own(Fields::defaults());
                let window = self.window(&table.window)?;
                let lifetime = table.lifetime.as_ref()?;
                if lifetime.value.is_zero() {
                    self.report.error("scenario.range", lifetime.span, "a ration holds for some time");
                }
                let lifetime = lifetime.value;
                (ControllerConfig::Bbn(BbnConfig { window, lifetime, header }), Recovery::GoBackN)
            }
            SchemeTable::Vanilla(mut table) => {
                table.inherit_own(Fields::defaults());
                let window = self.window(&table.window)?;
                (ControllerConfig::Fixed(FixedConfig { window }), Recovery::GoBackN)
            }
            SchemeTable::Datagram(_)
            | SchemeTable::AdaptiveAck(_)
            | SchemeTable::Sscop(_)
            | SchemeTable::SscopRate(_)
            | SchemeTable::SscopRateLiteral(_)
            | SchemeTable::Sstp(_) => return None,
        })
    }

    /// A window of at least one packet.
    fn window(&mut self, at: &Option<At<Packets>>) -> Option<f64> {
        let at = at.as_ref()?;
        if at.value.0 < 1.0 {
            let message = "a window below one packet never sends";
            self.report.error("scenario.window", at.span, message).help("the smallest window is \"1 pkt\"");
            return None;
        }
        Some(at.value.0)
    }

    fn sender(
        &mut self,
        common: &Common,
        segment: u32,
        recovery: Recovery,
        span: Span,
    ) -> Option<SenderConfig> {
        let max_window = self.window(&common.max_window)?;
        let byte_counting = self.window(&common.byte_counting)?;
        let duplicate_threshold = common.duplicate_threshold.as_ref()?;
        if duplicate_threshold.value == 0 {
            self.report.error("scenario.range", duplicate_threshold.span, "the threshold is at least 1");
        }
        Some(SenderConfig {
            // The gate of the node where a flow begins decides.
            pause: PauseConfig::default(),
            segment,
            // Saturates: there are never more segments than that.
            max_window: max_window as u32,
            counting: common.counting.as_ref()?.value.0,
            recovery,
            byte_counting: byte_counting as u32,
            duplicate_threshold: duplicate_threshold.value,
            rack: self.rack(common)?,
            rtt: self.rto(common.rto.as_ref(), span)?,
            idle_restart: common.idle_restart.as_ref()?.value,
            nagle: false,
            fine_timer: false,
            ecn: common.ecn.as_ref()?.value,
            max_retransmissions: common.max_retransmissions.as_deref().copied(),
        })
    }

    fn rack(&mut self, common: &Common) -> Option<Option<RackConfig>> {
        let rack = common.rack.as_ref()?;
        if !rack.value {
            for (key, at) in [("undo", &common.undo), ("tail-probe", &common.tail_probe)] {
                if let Some(at) = at {
                    let message = format!("`{key}` is a part of `rack`, which is off");
                    self.report.error("scenario.range", at.span, message).help("set rack = true");
                }
            }
            return Some(None);
        }
        Some(Some(RackConfig {
            undo: common.undo.as_deref().copied().unwrap_or(true),
            tail_probe: common.tail_probe.as_deref().copied().unwrap_or(true),
            // That of the receiver, which is not known yet.
            max_ack_delay: Duration::ZERO,
        }))
    }

    fn rto(&mut self, rto: Option<&At<Rto>>, span: Span) -> Option<RttConfig> {
        let mut table = rto.map(|at| at.value.clone()).unwrap_or_default();
        let given = (table.floor.clone(), table.margin.clone());
        table.inherit(Rto::defaults());
        let span = rto.map_or(span, |at| at.span);
        if let ((Some(floor), None), Some(margin)) = (&given, &mut table.margin) {
            // Who lowers the one wants short time-outs, which the other would forbid.
            margin.value = margin.value.min(floor.value);
        }
        if let (Some(floor), Some(margin)) = &given
            && !floor.value.is_zero()
            && floor.value < margin.value
        {
            let message =
                format!("a floor of {} below the margin of {} does nothing", floor.value, margin.value);
            let help = "a time-out is the smoothed round-trip time and at least `margin`: leave that out, and it follows `floor`";
            self.report.warn("scenario.rto", floor.span, message).help(help);
        }
        let config = RttConfig {
            initial: table.initial.as_ref()?.value,
            floor: table.floor.as_ref()?.value,
            ceiling: table.ceiling.as_ref()?.value,
            granularity: table.granularity.as_ref()?.value,
            margin: table.margin.as_ref()?.value,
            deviations: table.deviations.as_ref()?.value,
        };
        if config.ceiling < config.floor || config.ceiling.is_zero() || config.initial.is_zero() {
            let message = "a time-out begins above zero, and its ceiling is not below its floor";
            self.report.error("scenario.range", span, message);
        }
        Some(config)
    }

    fn receiver(&mut self, common: &Common, segment: u32, recovery: Recovery) -> Option<ReceiverConfig> {
        let window = common.receive_window.as_ref()?;
        if window.value.get() < u64::from(segment) {
            let message = format!("a receive window of {} holds no segment of {segment} B", window.value);
            self.report.error("scenario.window", window.span, message);
        }
        let delayed_ack = match common.delayed_ack.as_deref() {
            Some(DelayedAckChoice::On(table)) => {
                let mut table = table.clone();
                table.inherit(DelayedAckTable::defaults());
                let every = table.every.as_ref()?;
                if every.value == 0 {
                    self.report.error("scenario.range", every.span, "every is at least 1");
                }
                Some(DelayedAck { delay: table.delay.as_ref()?.value, every: every.value })
            }
            _ => None,
        };
        Some(ReceiverConfig {
            window: window.value.get(),
            delayed_ack,
            sack: recovery == Recovery::Sack,
            keep_out_of_order: common.keep_out_of_order.as_ref()?.value,
            report_arrivals: false,
            wait_for_consumption: false,
        })
    }
}
