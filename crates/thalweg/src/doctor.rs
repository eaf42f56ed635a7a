//! `thalweg doctor`: UDP capabilities and performance of this host.

use crate::console_output::{CommandResult, Console, Error};
use crate::value_parsers::resolve_host;
use clap::Args;
use serde_json::json;
use std::fmt::Write as _;
use thalweg_net::live::{Findings, Lateness, examine_host};
use thalweg_proto::units::{Bytes, Duration, Rate};
use thalweg_report::output::format_rate;
use thalweg_scenario::host_table;
use thalweg_sim::simulation_spec::HostSpec;

/// `thalweg doctor`.
#[derive(Debug, Args)]
pub struct DoctorArguments {
    /// Examine the interface towards this host, without sending anything to it; default: the loopback
    #[arg(value_name = "HOST[:PORT]")]
    pub target: Option<String>,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
}

/// Examines the host and prints the findings.
pub fn doctor(arguments: &DoctorArguments, console: &Console) -> CommandResult {
    let target = arguments.target.as_deref().map(resolve_host).transpose()?;
    let findings = examine_host(target).map_err(|error| {
        let towards = arguments
            .target
            .as_ref()
            .map_or_else(String::new, |host| format!(" the interface towards {host}"));
        Error::Failed(format!("cannot examine{towards}: {error}"))
    })?;
    let advice = advice_lines(&findings);
    if arguments.json {
        let document = json!({
            "local": findings.local.to_string(),
            "buffer_requested_bytes": findings.requested.get(),
            "send_buffer_bytes": findings.send_buffer.get(),
            "receive_buffer_bytes": findings.receive_buffer.get(),
            "interface_mtu_bytes": findings.interface_mtu.map(Bytes::get),
            "gso_segments": findings.segments,
            "gso": findings.segmentation,
            "gro": findings.coalescing,
            "ecn": findings.ecn,
            "timer_overshoot_seconds": findings.timer_overshoot.as_secs_f64(),
            "wake_up_p50_seconds": findings.lateness.wake_up_latency.as_secs_f64(),
            "wake_up_p99_seconds": findings.lateness.wake_up_latency_p99.as_secs_f64(),
            "preemption_every_seconds": findings.lateness.preemption_every.as_secs_f64(),
            "preemption_seconds": findings.lateness.preemption.as_secs_f64(),
            "call_seconds": findings.lateness.call.as_secs_f64(),
            "packet_seconds": findings.lateness.packet.as_secs_f64(),
            "host": host_table(&host_model(&findings)),
            "clock_read_seconds": findings.clock.as_secs_f64(),
            "encryption_bits_per_second": findings.encryption.as_bits_per_sec(),
            "processors": findings.processors,
            "debug_build": cfg!(debug_assertions),
            "advice": advice,
        });
        let text =
            serde_json::to_string_pretty(&document).map_err(|error| Error::Failed(error.to_string()))?;
        return console.print(&format!("{text}\n"));
    }
    let works = |works| if works { "works" } else { "does not work" };
    let mut text = format!("From {}\n", findings.local);
    let mut row = |name: &str, value: String| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {name:<22} {value}");
    };
    row("send buffer", format!("{} ({} requested)", findings.send_buffer, findings.requested));
    row("receive buffer", format!("{} ({} requested)", findings.receive_buffer, findings.requested));
    if let Some(mtu) = findings.interface_mtu {
        row("interface MTU", mtu.to_string());
    }
    row("GSO", format!("{}, up to {}", works(findings.segmentation), findings.segments));
    row("GRO", works(findings.coalescing).to_owned());
    row("ECN", works(findings.ecn).to_owned());
    row("timer overshoot", rounded_to_10_ns(findings.timer_overshoot).to_string());
    let late = &findings.lateness;
    row(
        "wake-up latency",
        format!(
            "{}, p99 {}",
            rounded_to_10_ns(late.wake_up_latency),
            rounded_to_10_ns(late.wake_up_latency_p99)
        ),
    );
    let preemption = match late.preemption_every {
        Duration::ZERO => "none".to_owned(),
        every => format!("{} every {}", rounded_to_10_ns(late.preemption), rounded_to_10_ns(every)),
    };
    row("preemption", preemption);
    row(
        "send call",
        format!("{}, plus {} per packet", rounded_to_10_ns(late.call), rounded_to_10_ns(late.packet)),
    );
    row("clock read", format!("{} ns", findings.clock.as_picos() / 1000));
    row("encryption", format!("{} per processor", format_rate(findings.encryption.as_f64())));
    row("processors", findings.processors.to_string());
    let _ = writeln!(text, "Host model for scenarios:\n  host = {}", host_table(&host_model(&findings)));
    text.push_str(if advice.is_empty() { "Nothing to improve.\n" } else { "Advice:\n" });
    for line in &advice {
        let _ = writeln!(text, "  - {line}");
    }
    console.print(&text)
}

/// Rounds to 0.01 µs, the accuracy of these measurements.
fn rounded_to_10_ns(time: Duration) -> Duration {
    Duration::from_nanos(time.as_picos() / 10_000 * 10)
}

/// Returns this host in the form of a scenario's table.
///
/// # Errors
/// If the host cannot be measured.
pub(crate) fn host_model_of_this_host() -> Result<String, Error> {
    let findings = examine_host(None).map_err(|error| Error::Failed(format!("cannot examine: {error}")))?;
    Ok(host_table(&host_model(&findings)))
}

/// Returns the host model for simulations. It charges the encryption time to each byte.
fn host_model(findings: &Findings) -> HostSpec {
    let late = &findings.lateness;
    HostSpec {
        wake_up_latency: rounded_to_10_ns(late.wake_up_latency),
        wake_up_latency_p99: rounded_to_10_ns(late.wake_up_latency_p99),
        preemption_every: rounded_to_10_ns(late.preemption_every),
        preemption: rounded_to_10_ns(late.preemption),
        granularity: findings.coalescing_interval,
        coalescing: findings.coalescing_interval,
        call: rounded_to_10_ns(late.call),
        packet_cost: rounded_to_10_ns(late.packet),
        byte_cost: findings.encryption.transmission_time(Bytes::new(1000)) / 1000,
        // Linux also counts its own overhead.
        buffer: Bytes::new(findings.receive_buffer.get() / 2),
    }
}

/// Share of a processor's time used by other processes, above which a warning is printed.
const BUSY_CPU_SHARE: f64 = 0.05;

/// Returns advice on the findings.
fn advice_lines(findings: &Findings) -> Vec<String> {
    let mut advice = Vec::new();
    for (name, key, got) in [
        ("receive", "net.core.rmem_max", findings.receive_buffer),
        ("send", "net.core.wmem_max", findings.send_buffer),
    ] {
        if got < findings.requested {
            let size = findings.requested.get();
            advice.push(format!("allow larger {name} buffers: sysctl -w {key}={size}"));
        }
    }
    if !findings.segmentation {
        advice.push(
            "without GSO each packet costs a system call: use Linux 4.18 or later, and an interface with UDP segmentation offload".into(),
        );
    } else if !findings.coalescing {
        advice.push("without GRO each packet costs a system call: use Linux 5.0 or later".into());
    }
    if findings.segmentation && !findings.ecn {
        advice.push("ECN marks are lost on this host: something clears the ECN bits".into());
    }
    if findings.timer_overshoot > Duration::from_millis(1) {
        advice.push("timers are coarse or the processors busy: packets will leave in bursts".into());
    }
    let Lateness { preemption, preemption_every, .. } = findings.lateness;
    let share =
        preemption.as_secs_f64() / (preemption + preemption_every).as_secs_f64().max(f64::MIN_POSITIVE);
    if share > BUSY_CPU_SHARE {
        advice.push(format!(
            "other programs take {:.0} % of a processor's time: measure again when the host is idle",
            share * 100.0
        ));
    }
    if findings.clock > Duration::from_micros(1) {
        advice.push("reading the clock is slow: see /sys/devices/system/clocksource".into());
    }
    if findings.encryption < Rate::from_mbits_per_sec(4000) && !cfg!(debug_assertions) {
        advice.push("encryption is slow: this processor lacks AES instructions, or they are disabled".into());
    }
    if cfg!(debug_assertions) {
        advice.push("this is a debug build: measure with one made by cargo build --release".into());
    }
    advice
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problems_are_named_with_remedies() {
        let good = Findings {
            local: "127.0.0.1".parse().unwrap(),
            requested: Bytes::new(1000),
            send_buffer: Bytes::new(2000),
            receive_buffer: Bytes::new(2000),
            interface_mtu: None,
            segments: 64,
            segmentation: true,
            coalescing: true,
            ecn: true,
            lateness: Lateness::default(),
            coalescing_interval: Duration::from_micros(50),
            timer_overshoot: Duration::from_micros(5),
            clock: Duration::from_nanos(30),
            encryption: Rate::from_mbits_per_sec(40_000),
            processors: 2,
        };
        let min = advice_lines(&good).len();
        let receive_buffer = Bytes::new(500);
        let small = advice_lines(&Findings { receive_buffer, ..good.clone() });
        assert!(small[0].contains("net.core.rmem_max=1000"), "{small:?}");
        assert_eq!(advice_lines(&Findings { segmentation: false, ..good.clone() }).len(), min + 1);
        let (preemption, preemption_every) = (Duration::from_millis(1), Duration::from_millis(3));
        let busy = advice_lines(&Findings {
            lateness: Lateness { preemption, preemption_every, ..Lateness::default() },
            ..good.clone()
        });
        assert!(busy[0].contains("take 25 % of"), "{busy:?}");
        assert_eq!(advice_lines(&Findings { ecn: false, ..good }).len(), min + 1);
    }
}
