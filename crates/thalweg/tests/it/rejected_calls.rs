//! Messages on calls that are rejected before anything runs.

use crate::command_runs::{fails, temporary_path};

#[test]
fn wrong_calls_are_rejected_with_suggestions() {
    let place = temporary_path("wrong");
    for (arguments, expected) in [
        (&["run", "dumbel"][..], "did you mean `dumbbell`?"),
        (&["run", "dumbbell", "--jsn"], "--json"),
        (&["compare", "dumbbell", "--schemes", "newreno,cubik"], "cubic"),
        (&["compare", "dumbbell", "--schemes", "vegas,vegas"], "given twice"),
        (
            &["compare", "dumbbell", "--schemes", "vegas,cubic:beta=2"],
            "cubic:beta=2: beta cannot be `2`: it must be above 0",
        ),
        (&["compare", "dumbbell", "--schemes", "cubic:beta=0.5,betta=1"], "did you mean `beta`?"),
        (
            &["compare", "dumbbell", "--schemes", "cubic:bta=1,c=-1,vegas,newreno:bad=1"],
            "error: --schemes: cubic:bta=1,c=-1: cubic has no option `bta`; did you mean `beta`?\n\
             error: --schemes: cubic:bta=1,c=-1: c cannot be `-1`: it must be above 0\n\
             error: --schemes: newreno:bad=1: newreno has no option `bad`; ",
        ),
        (
            &["run", "dumbbell", "--set", "flow.flows.scheme=cubic:beta=0.5, betta=1"],
            &format!("scheme=cubic:beta=0.5, betta=1\n  | {}^^^^^^^ did you mean", " ".repeat(34)),
        ),
        (
            &["run", "dumbbell", "--set", "flow.flows.scheme=cubic:beta=2,prr=true"],
            &format!("scheme=cubic:beta=2,prr=true\n  | {}^^^^^^\n", " ".repeat(24)),
        ),
        (&["impair", "--listen", "[::1]:0", "--to", "[::1]:1", "--queue", "fifo"], "did you mean `fcfs`?"),
        (&["run", "dumbbell", "--pcap", "--pcap-at", "botleneck"], "did you mean `bottleneck`?"),
        (&["run", "--pcap", "a.pcap", "dumbbell"], "`--pcap=a.pcap`"),
        (&["compare", "dumbbell", "--svg", "a.svg", "--schemes", "cubic"], "`--svg=a.svg`"),
        (&["run", "dumbbell", "--set", "duration=2"], "has no unit"),
        (&["run", "dumbbell", "--seed", "18446744073709551615", "--reps", "2"], "too large"),
        (&["rerun", "."], "not a results folder"),
        (&["list", "scheme"], "schemes"),
        (&["run", "recovery", "--trace", "sequence", "--trace-flow", "dta"], "did you mean `data`?"),
        (&["run", "recovery", "--trace", "sequence", "--trace-packets", "0"], "from 1"),
        (&["paper", "lee98"], "did you mean `lee97`?"),
        (&["explore", "sscp"], "did you mean `sscop`?"),
        (&["explore", "sscop", "--window", "0"], "from 1 to 64"),
        (&["explore", "sscop", "--losses", "256"], "from 0 to 255"),
        (&["explore", "adaptive-ack", "--slow-reader"], "no flow control"),
        (&["explore", "sstp", "--endless", "--slow-reader"], "cannot be used with '--slow-reader"),
        (&["explore", "sscop", "--endless"], "--endless: it is for sstp"),
        (&["explore", "sstp", "--endless", "--delays", "1"], "cannot be used with '--delays"),
    ] {
        let error = fails(&place, arguments, 2);
        assert!(error.contains(expected), "{arguments:?} says\n{error}");
    }
}
