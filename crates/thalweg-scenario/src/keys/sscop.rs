//! SSCOP, plain and with rate control.

use super::super::quantity::{Number, Packets};
use super::super::table::table;
use super::scheme::{Sizes, words};
use thalweg_proto::sscop::rate::{Base, Probing, Unit};
use thalweg_proto::units::{Bytes, Duration, Rate};

table! {
    /// SSCOP (ITU-T Q.2110): polls, complete reports, and credit that the receiver grants. Messages of `segment` bytes
    /// (1468 B without) have 4 bytes of trailer and up to 3 of padding; `header` (28 B without) is what the layers below
    /// add to every PDU, "0 B" on an ATM line.
    Sscop "sscop scheme" {
        /// The credit: how many messages the receiver accepts beyond those it delivered.
        window: Packets = "window" or r#""128 pkt""#;
        /// The most messages that the sender keeps unacknowledged, whatever the credit.
        buffer: Packets = "buffer" or r#""8388607 pkt""#;
        /// k: the longest message; 4096 B without, or `segment` where that is longer.
        k: Bytes = "k";
        /// j: the longest user-to-user information.
        j: Bytes = "j" or r#""4096 B""#;
        /// A BGN, END, RS or ER is sent so often at most.
        max_cc: u32 = "max-cc" or "4";
        /// A POLL follows so many SDs.
        max_pd: u32 = "max-pd" or "25";
        /// Elements of the list of a STAT: odd, from 3.
        max_stat: u32 = "max-stat" or "67";
        /// Timer_CC: until a BGN, END, RS or ER is repeated.
        timer_cc: Duration = "timer-cc" or r#""1 s""#;
        /// Timer_POLL: between POLLs while data is under way.
        timer_poll: Duration = "timer-poll" or r#""750 ms""#;
        /// Timer_KEEP-ALIVE: between POLLs when all is acknowledged.
        timer_keep_alive: Duration = "timer-keep-alive" or r#""2 s""#;
        /// Timer_NO-RESPONSE: a silent peer is given up.
        timer_no_response: Duration = "timer-no-response" or r#""7 s""#;
        /// Timer_IDLE: until an idle connection is checked.
        timer_idle: Duration = "timer-idle" or r#""15 s""#;
        /// A POLL follows the last of several retransmissions.
        poll_after_retransmission: bool = "poll-after-retransmission" or "false";
        /// Drop messages that come again after they were delivered, which otherwise lead to a recovery.
        ignore_old_data: bool = "ignore-old-data" or "false";
        ..sizes: Sizes;
    }
}

table! {
    /// SSCOP with rate-based flow control (Chen and Chen 1999): `sscop-rate` with the amendments that make the rules work,
    /// `sscop-rate-literal` with the rules as printed.
    SscopRate "sscop-rate scheme" {
        /// The rate at the start.
        start_rate: Rate = "start-rate" or r#""4 Mbit/s""#;
        /// The largest rate; as fast as the line without.
        max_rate: Rate = "max-rate";
        /// The backlog in the network that a source aims at (α).
        alpha: Packets = "alpha" or r#""3 pkt""#;
        /// What sizes and rates are counted in: "bytes" of PDUs, or "cells" of ATM.
        unit: UnitName = "unit" or r#""bytes""#;
        /// How the source probes: "spacing" (Chen and Chen) or "packet-pair" (Keshav 1991).
        probing: ProbingName = "probing" or r#""spacing""#;
        /// The rate that is corrected by the backlog: "delivered" or "probed" (literal).
        base_rate: BaseName = "base-rate";
        /// How much of the backlog above alpha goes in one period: 0.5, or 1 (literal).
        gain: Number = "gain";
        /// Without backlog the rate grows at most to so many times what was delivered: 1.1, or no bound (literal).
        growth: Number = "growth";
        /// A POLL follows the next message (true), or goes out alone as soon as its forerunner is answered (false, literal).
        poll_behind_data: bool = "poll-behind-data";
        /// Arrivals are kept until there are three: true, or false (literal).
        keep_records: bool = "keep-records";
        /// The shortest time-out of a POLL.
        poll_floor: Duration = "poll-floor" or r#""10 ms""#;
        /// The longest time-out of a POLL: those without answer double it.
        poll_ceiling: Duration = "poll-ceiling" or r#""10 s""#;
        /// A source that has not seen an empty queue for so long makes room for two round trips; never without.
        drain: Duration = "drain";
        /// Round trips that are longer than the shortest by no more than this, and no more than a quarter, show no queue; for hosts that answer late.
        jitter: Duration = "jitter" or r#""0 s""#;
        ..sscop: Sscop;
    }
}

words! {
    /// What sizes are counted in.
    UnitName: Unit {
        "bytes" => Unit::Bytes,
        "cells" => Unit::Cells,
    }
}

words! {
    /// How a source probes.
    ProbingName: Probing {
        "spacing" => Probing::Spacing,
        "packet-pair" => Probing::PacketPair,
    }
}

words! {
    /// Which rate is corrected.
    BaseName: Base {
        "delivered" => Base::Delivered,
        "probed" => Base::Probed,
    }
}
