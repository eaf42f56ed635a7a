//! Published blocks of table II of Yang and Fu (2001), with one seed: accuracy and order.

use thalweg_studies::paper::{Choice, Results, Row, find_paper, prepare_paper};

fn run_paper(experiments: &[&str]) -> Results {
    let experiments = experiments.iter().map(|&id| id.to_owned()).collect();
    let choice = Choice { experiments, replications: Some(1), ..Choice::default() };
    let prepared =
        prepare_paper(find_paper("yang01").unwrap(), &choice).unwrap_or_else(|error| panic!("{error}"));
    let runs = super::runs_of(&prepared);
    prepared.results(runs)
}

fn values_of<'a>(results: &'a Results, id: &str, discipline: &str, classes: &[&str]) -> Vec<&'a Row> {
    let rows = &results.experiment(id).unwrap().rows;
    let find = |class: &&str| {
        let is = |row: &&Row| {
            row.cell.text("discipline") == Some(discipline) && row.cell.text("source") == Some(*class)
        };
        rows.iter().find(is).unwrap()
    };
    classes.iter().map(find).collect()
}

/// A block of the table: the allowed mean deviation of its times for these disciplines, and the classes in order of
/// time.
struct Block<'a> {
    scheme: &'a str,
    max: f64,
    disciplines: &'a [&'a str],
    orders: &'a [&'a [&'a str]],
}

/// Mean differences from the published times, and the order of the classes. UDP 3 and TCP 3 are too close in ts/ts to
/// be distinguished, and TCP classes of be/be are equal.
#[test]
fn published_blocks_are_near_and_in_order() {
    let results = run_paper(&["table-II/cc/cc", "table-II/ts/ts", "table-II/be/be"]);
    let all = ["FCFS", "DRR", "RED", "SFQ"];
    let blocks = [
        Block {
            scheme: "cc/cc",
            max: 0.20,
            disciplines: &all,
            orders: &[&["TCP1", "TCP2", "UDP3", "TCP3", "UDP4", "TCP4"]],
        },
        Block {
            scheme: "ts/ts",
            max: 0.15,
            disciplines: &all,
            orders: &[&["TCP1", "TCP2", "TCP3", "UDP4", "TCP4"], &["TCP2", "UDP3", "UDP4"]],
        },
        Block {
            scheme: "be/be",
            max: 0.40,
            disciplines: &["FCFS", "RED", "SFQ"],
            orders: &[&["UDP3", "TCP3"], &["UDP4", "TCP4"]],
        },
    ];
    for Block { scheme, max, disciplines, orders } in blocks {
        let id = format!("table-II/{scheme}");
        let mut differences = Vec::new();
        for discipline in disciplines {
            let all = values_of(&results, &id, discipline, &["TCP1", "TCP2", "TCP3", "TCP4", "UDP3", "UDP4"]);
            differences.extend(all.iter().map(|row| row.relative_difference().unwrap().abs()));
            for order in orders {
                let times: Vec<f64> = values_of(&results, &id, discipline, order)
                    .iter()
                    .map(|row| row.value.unwrap())
                    .collect();
                assert!(times.is_sorted(), "{scheme} {discipline} {order:?}: {times:?}");
            }
        }
        let mean = differences.iter().sum::<f64>() / differences.len() as f64;
        assert!(mean < max, "{scheme}: {mean}");
    }
}
