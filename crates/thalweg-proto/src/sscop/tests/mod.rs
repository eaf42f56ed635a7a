//! Test suite: state by input, phases, receiver, sender, credit, wrap, recovery, and two endpoints joined by a channel.
//!
//! Actions are written as text, in the notation of the state tables: `>X` sends PDU X, `^S` signals S to the user, `!X`
//! reports error code X. PDUs are `SD(n)`, `POLL(ps,s)`, `STAT(ps;r;mr;list)`, `USTAT(r;mr;a,b)`, `BGN(sq;mr)`.

mod channel;
mod codec;
mod number_wrap;
mod polling_phases;
mod receiver;
mod recovery;
mod sender;
mod state_by_input_table;

use super::*;
use crate::engine_contract::{Engine, Output};
use crate::payload::Slice;
use crate::units::{Duration, Time};
use std::sync::Arc;

/// Endpoint with a clock.
struct End {
    sscop: Sscop<Slice>,
    now: Time,
}

fn octets_as_text(octets: &Slice) -> String {
    String::from_utf8_lossy(octets.as_bytes()).into_owned()
}

fn show_uu(uu: Option<&Slice>) -> String {
    uu.map_or(String::new(), |uu| format!("({})", octets_as_text(uu)))
}

fn numbers(list: &[SequenceNumber]) -> String {
    list.iter().map(|number| number.get().to_string()).collect::<Vec<_>>().join(",")
}

/// Formats a PDU in the notation of the tables.
fn show_pdu(pdu: &Pdu<Slice>) -> String {
    let uu = show_uu(pdu.user_field());
    match pdu {
        Pdu::Bgn { sq, mr, .. } => format!("BGN({sq};{}){uu}", mr.get()),
        Pdu::Bgak { mr, .. } => format!("BGAK({}){uu}", mr.get()),
        Pdu::Bgrej { .. } => format!("BGREJ{uu}"),
        Pdu::End { source, .. } => format!("END({}){uu}", u8::from(*source == Source::Sscop)),
        Pdu::Endak => "ENDAK".into(),
        Pdu::Rs { sq, mr, .. } => format!("RS({sq};{}){uu}", mr.get()),
        Pdu::Rsak { mr } => format!("RSAK({})", mr.get()),
        Pdu::Er { sq, mr } => format!("ER({sq};{})", mr.get()),
        Pdu::Erak { mr } => format!("ERAK({})", mr.get()),
        Pdu::Sd { s, .. } => format!("SD({})", s.get()),
        Pdu::Poll { ps, s } => format!("POLL({},{})", ps.get(), s.get()),
        Pdu::Stat(Stat { ps, mr, r, list, .. }) => {
            format!("STAT({};{};{};{})", ps.get(), r.get(), mr.get(), numbers(list))
        }
        Pdu::Ustat(Ustat { mr, r, first, end, .. }) => {
            format!("USTAT({};{};{},{})", r.get(), mr.get(), first.get(), end.get())
        }
        Pdu::Ud { .. } => format!("UD{uu}"),
        Pdu::Md { .. } => format!("MD{uu}"),
    }
}

fn show_signal(signal: &Signal<Slice>) -> String {
    match signal {
        Signal::Establish { uu } => format!("^ESTABLISH.ind{}", show_uu(uu.as_ref())),
        Signal::Established { uu } => format!("^ESTABLISH.conf{}", show_uu(uu.as_ref())),
        Signal::Release { uu, source } => {
            let source = if *source == Source::User { "user" } else { "sscop" };
            format!("^RELEASE.ind[{source}]{}", show_uu(uu.as_ref()))
        }
        Signal::Released => "^RELEASE.conf".into(),
        Signal::Data { mu, s } => format!("^{}:{}", s.get(), octets_as_text(mu)),
        Signal::Resync { uu } => format!("^RESYNC.ind{}", show_uu(uu.as_ref())),
        Signal::Resynced => "^RESYNC.conf".into(),
        Signal::Recover => "^RECOVER.ind".into(),
        Signal::UnitData(mu) => format!("^UNITDATA.ind({})", octets_as_text(mu)),
        Signal::Retrieved(mu) => format!("^RETRIEVE.ind({})", octets_as_text(mu)),
        Signal::RetrieveComplete => "^RETRIEVE-COMPLETE.ind".into(),
        Signal::ManagementData(mu) => format!("^MAA-UNITDATA.ind({})", octets_as_text(mu)),
        Signal::Error(code @ ErrorCode::Retransmission(count)) => format!("!{}{count}", code.letter()),
        Signal::Error(code) => format!("!{}", code.letter()),
    }
}

impl End {
    /// Creates an idle endpoint.
    fn new(config: Config) -> Self {
        Self { sscop: Sscop::new(Arc::new(config)), now: Time::ZERO }
    }

    /// Creates an endpoint in the data transfer state, with a window of 128 granted by the peer.
    fn ready(config: Config) -> Self {
        Self::ready_with(config, true)
    }

    fn ready_with(config: Config, clear_buffers: bool) -> Self {
        let mut end = Self::new(config);
        end.pdu(bgn(1, 128));
        end.request(Request::AcceptEstablish { uu: None, clear_buffers });
        assert_eq!(end.sscop.state(), State::Ready);
        end
    }

    /// Returns all current actions, in order.
    fn drain(&mut self) -> Vec<String> {
        let mut done = Vec::new();
        loop {
            match self.sscop.poll(self.now) {
                Output::Transmit(pdu) => done.push(format!(">{}", show_pdu(&pdu))),
                Output::Event(signal) => done.push(show_signal(&signal)),
                Output::Timeout { .. } | Output::Idle => return done,
            }
        }
    }

    fn pdu(&mut self, pdu: Pdu<Slice>) -> String {
        self.sscop.handle(self.now, Input::Pdu(pdu));
        self.check();
        let done = self.drain().join(" ");
        self.check();
        done
    }

    /// Makes a request that must be allowed.
    #[track_caller]
    fn request(&mut self, request: Request<Slice>) -> String {
        self.sscop.request(self.now, request).expect("the request is allowed");
        let done = self.drain().join(" ");
        self.check();
        done
    }

    /// Sends messages "a", "b" ...
    #[track_caller]
    fn data(&mut self, messages: &str) -> String {
        messages
            .chars()
            .map(|letter| self.request(Request::Data(bytes(&letter.to_string()))))
            .filter(|done| !done.is_empty())
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// Expires a running timer.
    #[track_caller]
    fn expire(&mut self, timer: Timer) -> String {
        assert!(self.sscop.is_running(timer), "{timer:?} does not run");
        self.sscop.timers.start(timer, self.now, Duration::ZERO);
        let done = self.drain().join(" ");
        self.check();
        done
    }

    /// Returns the running timers: C, P, K, I, N.
    fn running(&self) -> String {
        Timer::ALL
            .into_iter()
            .zip("CPKIN".chars())
            .filter_map(|(timer, letter)| self.sscop.is_running(timer).then_some(letter))
            .collect()
    }

    /// Checks the invariants: the running timers of each state, and the order of the variables.
    #[track_caller]
    fn check(&self) {
        let (state, v) = (self.sscop.state(), self.sscop.variables());
        let running = self.running();
        let allowed: &[&str] = match state {
            State::Ready => &["PN", "KN", "I"],
            State::OutgoingConnection
            | State::OutgoingDisconnection
            | State::OutgoingResync
            | State::OutgoingRecovery => &["C"],
            _ => &[""],
        };
        assert!(allowed.contains(&running.as_str()), "{running} runs in {state:?}");
        if state == State::Ready {
            let (highest, limit) = (v.vr_h.distance_from(v.vr_r), v.vr_mr.distance_from(v.vr_r));
            assert!(
                highest <= limit && limit < SequenceNumber::HALF_MODULUS,
                "VR(R) <= VR(H) <= VR(MR): {v:?}"
            );
            assert_eq!(
                v.vt_s.distance_from(v.vt_a),
                self.sscop.transmission_buffer.span(),
                "the buffer is VT(A) to VT(S)"
            );
            let places = self.sscop.received.places().map(|place| place - self.sscop.delivered);
            assert!(places.into_iter().all(|place| place > 0 && place < u64::from(highest)), "{v:?}");
        }
    }
}

fn bytes(text: &str) -> Slice {
    Slice::new(text.as_bytes())
}

fn n(value: u32) -> SequenceNumber {
    SequenceNumber::new(value)
}

fn bgn(sq: u8, mr: u32) -> Pdu<Slice> {
    Pdu::Bgn { sq, mr: n(mr), uu: None }
}

fn bgak(mr: u32) -> Pdu<Slice> {
    Pdu::Bgak { mr: n(mr), uu: None }
}

fn er(sq: u8, mr: u32) -> Pdu<Slice> {
    Pdu::Er { sq, mr: n(mr) }
}

fn sd(s: u32) -> Pdu<Slice> {
    Pdu::Sd { s: n(s), mu: bytes("x") }
}

fn poll(ps: u32, s: u32) -> Pdu<Slice> {
    Pdu::Poll { ps: n(ps), s: n(s) }
}

fn stat(ps: u32, r: u32, mr: u32, list: &[u32]) -> Pdu<Slice> {
    let list = list.iter().copied().map(n).collect();
    Pdu::Stat(Stat { ps: n(ps), mr: n(mr), r: n(r), list, rate: None })
}

fn ustat(r: u32, mr: u32, first: u32, end: u32) -> Pdu<Slice> {
    Pdu::Ustat(Ustat { mr: n(mr), r: n(r), first: n(first), end: n(end), rate: None })
}
