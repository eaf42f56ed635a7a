//! `thalweg list` and `thalweg schema`: names available to scenarios, and the schema of scenario files.

use crate::simulation_arguments::Kind;

use crate::console_output::{CommandResult, Console, Error};
use serde_json::Value;
use std::sync::Arc;
use thalweg_catalog::Registry;
use thalweg_explore::SCHEMES;
use thalweg_report::output::{Align, Table};
use thalweg_scenario::{BUILT_IN, PATHS, measured_hosts};
use thalweg_studies::paper::PAPERS;

/// Implements `thalweg schema`.
pub fn print_schema(console: &Console) -> CommandResult {
    let mut text = serde_json::to_string_pretty(&thalweg_scenario::schema_with(&console.registry))
        .map_err(|error| Error::Failed(error.to_string()))?;
    text.push('\n');
    console.print(&text)
}

/// Implements `thalweg list`.
pub fn print_list(what: Kind, console: &Console) -> CommandResult {
    let mut table = Table::new([("Name", Align::Left), ("Description", Align::Left)]);
    names_of_kind(what, &console.registry).into_iter().for_each(|(name, about)| table.row([name, about]));
    console.print(&table.render(console.style))
}

/// Returns the names of a kind, with descriptions.
pub fn names_of_kind(what: Kind, registry: &Arc<Registry>) -> Vec<(String, String)> {
    match what {
        Kind::Schemes => schema_variants(registry, "scheme", "base"),
        Kind::Queues => schema_variants(registry, "queue", "discipline"),
        // A plain string, without a table, has no description in the schema.
        Kind::Workloads => [("bulk".to_owned(), "Always has more to send (ftp)".to_owned())]
            .into_iter()
            .chain(schema_variants(registry, "workload", "kind"))
            .collect(),
        Kind::Feedback => schema_variants(registry, "feedback", "kind"),
        Kind::Losses => schema_variants(registry, "loss", "model"),
        Kind::Paths => PATHS
            .iter()
            .map(|path| (path.name.to_owned(), format!("{} ({})", path.about, path.source)))
            .collect(),
        Kind::Hosts => measured_hosts().map(|(name, about)| (name.to_owned(), about)).into(),
        Kind::Protocols => SCHEMES.iter().map(|&(name, about)| (name.to_owned(), about.to_owned())).collect(),
        Kind::Scenarios => {
            BUILT_IN.iter().map(|of| (of.name.to_owned(), title_of_scenario(of.text))).collect()
        }
        Kind::Papers => PAPERS.iter().map(|of| (of.name.to_owned(), of.title.to_owned())).collect(),
    }
}

/// Returns the variants of a schema table, distinguished by the key `tag`, with descriptions.
fn schema_variants(registry: &Arc<Registry>, table: &str, tag: &str) -> Vec<(String, String)> {
    let schema = thalweg_scenario::schema_with(registry);
    let kinds = schema["$defs"][table]["oneOf"].as_array().cloned().unwrap_or_default();
    let kind = |kind: &Value| {
        let name = kind["properties"][tag]["const"].as_str()?;
        Some((name.to_owned(), first_sentence(kind["description"].as_str().unwrap_or(""))))
    };
    kinds.iter().filter_map(kind).collect()
}

/// Returns the first sentence on one line, without its full stop. A full stop in parentheses ("Lee et al. 1997") does
/// not end a sentence.
fn first_sentence(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut open = 0_i32;
    let ends = |word: &&str| {
        let count = |sign: char| word.matches(sign).count() as i32;
        open += count('(') - count(')');
        open <= 0 && word.ends_with('.')
    };
    let end = words.iter().position(ends).map_or(words.len(), |last| last + 1);
    words[..end].join(" ").trim_end_matches('.').to_owned()
}

/// Returns the title in a scenario file.
fn title_of_scenario(text: &str) -> String {
    let title = text.lines().find_map(|line| line.strip_prefix("title = "));
    title.map(|title| title.trim().trim_matches('"').to_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_ends_at_its_full_stop() {
        let text = "Adaptive acknowledgement (Lee et al. 1997): the\nreceiver reports. It has more to say.";
        assert_eq!(first_sentence(text), "Adaptive acknowledgement (Lee et al. 1997): the receiver reports");
        assert_eq!(first_sentence(" One. "), "One");
        assert_eq!(first_sentence("About 1.5 packets. More"), "About 1.5 packets");
    }

    #[test]
    fn everything_listed_is_described() {
        for (table, tag) in [
            ("scheme", "base"),
            ("queue", "discipline"),
            ("workload", "kind"),
            ("feedback", "kind"),
            ("loss", "model"),
        ] {
            let choices = schema_variants(&Arc::default(), table, tag);
            assert!(choices.len() > 1, "{table}");
            assert!(choices.iter().all(|(_, about)| about.len() > 10), "{choices:?}");
            assert!(choices.iter().all(|(_, about)| !about.contains(char::is_control)), "{choices:?}");
        }
        assert!(BUILT_IN.iter().all(|of| !title_of_scenario(of.text).is_empty()));
    }
}
