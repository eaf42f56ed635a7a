//! Text output of benchmark results.

use serde_json::Value;
use std::fmt::Write as _;
use std::time::Duration;
use thalweg_proto::units::Bytes;
use thalweg_report::output;

/// Excess duration of a client beyond which it is reported.
const EXCESS_DURATION: Duration = Duration::from_millis(500);

/// Datagram size above which a network is unusual: Ethernet jumbo frames have 9000 B.
const JUMBO_FRAME: f64 = 9000.0;

/// Share of retransmitted segments above which a busy host is not the only explanation.
const NOTABLE_LOSS: f64 = 0.005;

/// Results of a client.
pub struct ClientResults<'a> {
    /// The client's own results.
    pub client_results: &'a Value,
    /// The server's results per connection; null if it did not answer in time.
    pub server_results: &'a [Value],
    /// Time beyond the requested duration.
    pub excess_time: Duration,
    /// Advice for a higher rate.
    pub advice: Option<&'a str>,
}

impl ClientResults<'_> {
    /// Returns the text, in lines of any length.
    pub fn text(&self) -> String {
        let missing = self.client_results["not_arrived_bytes"].as_u64().filter(|missing| *missing > 0);
        let is_unknown =
            is_data_sender(self.client_results) && self.client_results["bits_per_second"].is_null();
        let mut text = String::new();
        let is_rate_known = missing.is_none() && !is_unknown;
        if is_rate_known {
            let _ = writeln!(text, "client: {}", result_line(self.client_results));
        }
        for server in self.server_results {
            if server.is_null() {
                text.push_str("server: did not answer in time\n");
            } else {
                let mut server = server.clone();
                server["cpu_of_both_ends"] = self.client_results["cpu_of_both_ends"].clone();
                let _ = writeln!(text, "server: {}", server_line(&server));
            }
        }
        if !is_rate_known {
            // Written bytes do not show how many arrived.
            let _ = writeln!(text, "client: {}", written_bytes_and_cost(self.client_results));
        }
        if let Some(missing) = missing {
            let _ = writeln!(text, "{} of the written data had not arrived at the end.", Bytes::new(missing));
        } else if is_unknown {
            text.push_str("It is unknown how much of the written data arrived.\n");
        }
        if self.excess_time > EXCESS_DURATION {
            let _ = writeln!(
                text,
                "It took {:.1} s longer than requested, until the data in flight had arrived or was abandoned.",
                self.excess_time.as_secs_f64()
            );
        }
        if let Some(advice) = self.advice {
            let _ = writeln!(text, "Note: {advice}.");
        }
        let loses = |end: &Value| {
            is_data_sender(end)
                && retransmitted_share(end) > NOTABLE_LOSS
                && number_of(end, "datagram_bytes") > JUMBO_FRAME
        };
        if self.advice.is_none() && (loses(self.client_results) || self.server_results.iter().any(loses)) {
            text.push_str(
                "Note: datagrams as large as the loopback's are lost as a whole, and hardly any other network carries them: \
                 `--datagram \"1472 B\"` measures with those of Ethernet.\n",
            );
        }
        text
    }
}

fn number_of(result: &Value, key: &str) -> f64 {
    result[key].as_f64().unwrap_or(0.0)
}

/// Returns the share of segments that a sender retransmitted.
fn retransmitted_share(result: &Value) -> f64 {
    number_of(result, "retransmissions") / number_of(result, "segments_sent").max(1.0)
}

/// Returns true for the endpoint that sends the measured data; the other one sends only a request or results.
fn is_data_sender(result: &Value) -> bool {
    result["sends"] == true
}

/// Returns a server's result as one line. A sending server does not know when all data has arrived, and therefore
/// reports no rate.
pub fn server_line(result: &Value) -> String {
    if is_data_sender(result) { written_bytes_and_cost(result) } else { result_line(result) }
}

/// Returns the bytes written by a sender, and their cost.
fn written_bytes_and_cost(result: &Value) -> String {
    format!("{} written{}", Bytes::new(number_of(result, "bytes") as u64), format_cpu_cost(result))
}

/// Returns a result as one line.
fn result_line(result: &Value) -> String {
    let number = |key: &str| result[key].as_f64().unwrap_or(0.0);
    let rate = output::format_rate(number("bits_per_second"));
    let bytes = Bytes::new(number("bytes") as u64);
    format!("{rate} ({bytes} in {:.2} s){}", number("seconds"), format_cpu_cost(result))
}

/// Formats a cost with three significant digits, and at most three decimals.
fn three_significant_digits(cost: f64) -> String {
    let digits = match cost {
        large if large >= 99.95 => 0,
        large if large >= 9.995 => 1,
        large if large >= 0.9995 => 2,
        _ => 3,
    };
    format!("{cost:.digits$}")
}

/// Returns the cost of a result.
fn format_cpu_cost(result: &Value) -> String {
    let number = |key: &str| result[key].as_f64().unwrap_or(0.0);
    let mut text = format!(
        ", {} CPU s/GB{}, datagrams of {} B",
        three_significant_digits(number("cpu_seconds_per_gigabyte")),
        if result["cpu_of_both_ends"] == true { " at both ends" } else { "" },
        number("datagram_bytes"),
    );
    if is_data_sender(result) && number("segments_sent") > 0.0 {
        let _ = write!(
            text,
            ", {} of {} segments retransmitted ({:.2} %)",
            number("retransmissions"),
            number("segments_sent"),
            100.0 * number("retransmissions") / number("segments_sent"),
        );
    }
    let marks = number("mark_cuts") + number("packets_marked");
    if marks > 0.0 {
        let _ = write!(text, ", marked {marks} times");
    } else if result["ecn"] == "failed" {
        text.push_str(", ECN off: the path does not preserve it");
    } else if result["ecn"] == "concealed" {
        text.push_str(", ECN off: its marks do not come back");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn costs_have_three_significant_digits() {
        let costs = [21.749, 9.999, 9.99, 0.4567, 123.4, 0.0].map(three_significant_digits);
        assert_eq!(costs, ["21.7", "10.0", "9.99", "0.457", "123", "0.000"]);
    }

    #[test]
    fn lost_loopback_datagrams_are_reported() {
        let end = |datagram: u32, again: u32| json!({"sends": true, "datagram_bytes": datagram, "retransmissions": again, "segments_sent": 1000});
        let outcome = |here: &Value, there: Value| {
            let client_results = ClientResults {
                client_results: here,
                server_results: &[there],
                excess_time: Duration::ZERO,
                advice: None,
            };
            client_results.text().contains("`--datagram \"1472 B\"`")
        };
        assert!(outcome(&end(65_507, 100), end(1200, 0)) && outcome(&end(1200, 0), end(65_507, 100)));
        assert!(!outcome(&end(65_507, 1), Value::Null) && !outcome(&end(1472, 100), end(1472, 0)));
    }

    #[test]
    fn written_bytes_are_no_rate_if_the_server_does_not_answer() {
        let here = json!({
            "sends": true, "bytes": 2_621_440, "seconds": 7.0, "bits_per_second": null, "not_arrived_bytes": null,
        });
        let results = ClientResults {
            client_results: &here,
            server_results: &[Value::Null],
            excess_time: Duration::ZERO,
            advice: None,
        };
        let text = results.text();
        assert!(text.starts_with("server: did not answer in time\nclient: 2.62144 MB written, "), "{text}");
        assert!(text.contains("unknown how much") && !text.contains("bit/s"), "{text}");
    }

    /// A receiver's segments carry only its request or result, and a server does not know how much of its data arrived.
    #[test]
    fn receivers_report_no_losses_and_sending_servers_no_rate() {
        let end = |sends: bool, segments: u32, seconds: f64| {
            json!({
                "sends": sends, "bytes": 10_000_000, "seconds": seconds, "bits_per_second": 8e7 / seconds,
                "datagram_bytes": 1472, "retransmissions": 1, "segments_sent": segments,
            })
        };
        let outcome = |here: &Value, there: Value| {
            ClientResults {
                client_results: here,
                server_results: &[there],
                excess_time: Duration::ZERO,
                advice: None,
            }
            .text()
        };
        let forward = outcome(&end(true, 400, 4.0), end(false, 2, 4.0));
        let (client, server) = forward.split_once('\n').unwrap();
        assert!(client.ends_with("1 of 400 segments retransmitted (0.25 %)"), "{client}");
        assert!(client.starts_with("client: 20.00 Mbit/s"), "{client}");
        assert_eq!(server, "server: 20.00 Mbit/s (10 MB in 4.00 s), 0.000 CPU s/GB, datagrams of 1472 B\n");
        let reverse = outcome(&end(false, 2, 4.0), end(true, 400, 3.0));
        let (client, server) = reverse.split_once('\n').unwrap();
        assert!(client.starts_with("client: 20.00 Mbit/s") && !client.contains("sent again"), "{client}");
        assert!(server.starts_with("server: 10 MB written, "), "{server}");
        assert!(server.ends_with("1 of 400 segments retransmitted (0.25 %)\n"), "{server}");
    }
}
