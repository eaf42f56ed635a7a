//! Reading time of large scenarios. The bounds are ten times the time of an optimised build on a busy machine.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;
use thalweg_scenario::load_text;

/// Returns a chain of links with one flow per link, in `lines` lines.
fn chain(lines: usize) -> String {
    let mut text = String::from("duration = \"10 s\"\n[defaults.link]\nqueue = \"1 bdp\"\n");
    for number in 0..lines / 9 {
        let next = number + 1;
        let _ = write!(
            text,
            "\n[[link]]\nbetween = [\"n{number}\", \"n{next}\"]\nrate = \"100 Mbit/s\"\ndelay = \"5 ms\"\n\n[[flow]]\n\
             from = \"n{number}\"\nto = \"n{next}\"\n"
        );
    }
    text
}

#[test]
fn a_thousand_lines() {
    let text = chain(1000);
    assert!((950..1050).contains(&text.lines().count()));
    let started = Instant::now();
    let loaded = load_text("chain.toml", &text, Path::new(""), &[]).unwrap();
    let took = started.elapsed();
    println!("{took:?}");
    assert_eq!(loaded.spec().links.len(), 111);
    assert!(took.as_millis() < 500, "{took:?}");
}

#[test]
fn the_maximum_number_of_links_is_read_in_time() {
    let text = chain(4096 * 9);
    let started = Instant::now();
    let loaded = load_text("chain.toml", &text, Path::new(""), &[]).unwrap();
    println!("{:?}", started.elapsed());
    assert_eq!(loaded.spec().links.len(), 4096);
    assert!(started.elapsed().as_secs() < 30);
    let more = load_text("chain.toml", &chain(5000 * 9), Path::new(""), &[]).unwrap_err();
    assert!(more[0].message.contains("more than 4096 links"), "{}", more[0].message);
}

/// Large files, each of which stresses another component.
#[test]
fn large_invalid_files_are_rejected_in_time() {
    let many = |text: &dyn Fn(usize) -> String, size: usize| {
        let mut all = String::new();
        let mut number = 0;
        while all.len() < size {
            all.push_str(&text(number));
            number += 1;
        }
        all
    };
    const LARGE_BYTES: usize = 3 << 20; // A fifth of the largest: the time is that of the parser, and goes with the size.
    for text in [
        many(&|number| format!("key{number} = 1\n"), LARGE_BYTES),
        many(&|number| format!("[scheme.s{number}]\nbase = \"vegas\"\n"), LARGE_BYTES),
        many(&|_| "[[flow]]\nfrom = \"a\"\nto = \"b\"\nscheme = \"x\"\n".to_owned(), LARGE_BYTES),
        many(&|number| format!("[node.n{number}]\nprocessing = {{ packet = 1 }}\n"), LARGE_BYTES),
        many(&|_| "!\n".to_owned(), LARGE_BYTES),
        format!("title = \"{}\"", "x".repeat(LARGE_BYTES)),
        format!("include = [{}]", "[],".repeat(LARGE_BYTES / 3)),
    ] {
        let started = Instant::now();
        let outcome = load_text("large.toml", &text, Path::new(""), &[]);
        println!("{:?}: {:?}", &text[..20], started.elapsed());
        assert!(started.elapsed().as_secs() < 30);
        if let Err(found) = outcome {
            assert!(found.len() <= 100);
        }
    }
}
