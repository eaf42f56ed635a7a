//! Import cycles: siblings that import each other, directly or indirectly.
//!
//! The rule applies to the modules of one folder. A module includes everything below it: the imports of all its files
//! are its imports. Parents and children may import each other, as is usual in Rust, and a child may use its parent's
//! imports. Of two siblings only one may import the other; each can then be read, tested and moved with its
//! dependencies
//! alone. Re-exports (`pub use`) are followed to their definition. Tests inside a module may import anything.

use std::collections::{BTreeMap, BTreeSet};

/// A module, as its path from the root of its crate.
type Module = Vec<String>;

/// Imports of a crate.
#[derive(Default)]
struct Crate {
    /// All modules, with their source if they have a file.
    modules: BTreeMap<Module, String>,
    /// Re-exported names by module, with their definitions.
    handed_on: BTreeMap<Module, BTreeMap<String, (Module, Vec<String>)>>,
}

/// Siblings that import each other, and the imports.
#[derive(Debug, PartialEq, Eq)]
pub struct Circle {
    /// Folder, relative to the root of the project.
    pub folder: String,
    pub modules: Vec<String>,
    /// Imports among them, as a hint for breaking the cycle.
    pub imports: Vec<String>,
}

/// Returns all cycles in the crates with these source files (name and content).
pub fn import_cycles<'a>(files: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<Circle> {
    let mut crates: BTreeMap<&str, Crate> = BTreeMap::new();
    for (name, content) in files {
        let Some((source, file)) = name.split_once("/src/") else { continue };
        let Some(path) = file.strip_suffix(".rs") else { continue };
        if path.split('/').any(|module| module == "tests") {
            continue;
        }
        let mut module: Module = path.split('/').map(str::to_owned).collect();
        module.pop_if(|last| ["lib", "main", "mod"].contains(&last.as_str()));
        let modules = &mut crates.entry(source).or_default().modules;
        for above in 0..module.len() {
            modules.entry(module[..above].to_vec()).or_default();
        }
        modules.insert(module, code(content));
    }
    crates.into_iter().flat_map(|(source, krate)| krate.circles(source)).collect()
}

/// Returns a file's code without comments and tests.
fn code(content: &str) -> String {
    let end = content.find("#[cfg(test)]\nmod tests {").unwrap_or(content.len());
    let lines = content[..end].lines().map(|line| line.split("//").next().unwrap_or(line));
    lines.collect::<Vec<_>>().join("\n")
}

impl Crate {
    fn circles(mut self, source: &str) -> Vec<Circle> {
        let imports = self.imports();
        // Imported siblings of each module, by folder.
        let mut folders: BTreeMap<Module, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
        for (module, path) in imports {
            let target = self.target(path, 0);
            let common = module.iter().zip(&target).take_while(|(a, b)| a == b).count();
            if let (Some(from), Some(to)) = (module.get(common), target.get(common)) {
                let folder = folders.entry(module[..common].to_vec()).or_default();
                folder.entry(from.clone()).or_default().insert(to.clone());
            }
        }
        let mut found = Vec::new();
        for (folder, imports) in folders {
            let name = [&[source.to_owned(), "src".to_owned()][..], &folder].concat().join("/");
            let mut seen = BTreeSet::new();
            for module in imports.keys() {
                let circle: BTreeSet<&String> = reachable_modules(&imports, module)
                    .into_iter()
                    .filter(|other| reachable_modules(&imports, other).contains(module))
                    .collect();
                if circle.is_empty() || !seen.insert(circle.clone()) {
                    continue;
                }
                let among = |from: &&String| {
                    let to = imports[*from].iter().filter(|to| circle.contains(to));
                    format!("{from} -> {}", to.cloned().collect::<Vec<_>>().join(", "))
                };
                found.push(Circle {
                    folder: name.clone(),
                    imports: circle.iter().map(among).collect(),
                    modules: circle.into_iter().cloned().collect(),
                });
            }
        }
        found
    }

    /// Returns every path in the code of each module, with its starting module.
    fn imports(&mut self) -> Vec<(Module, (Module, Vec<String>))> {
        let mut imports = Vec::new();
        for (module, content) in &self.modules {
            let starts = core::iter::once(0).chain(content.match_indices('\n').map(|(at, _)| at + 1));
            for statement in starts.map(|at| &content[at..]).filter(|text| is_use(text)) {
                let statement = statement.split(';').next().unwrap_or_default();
                let Some((before, tree)) = statement.split_once("use ") else { continue };
                for path in flatten_use_tree(tree) {
                    let Some(path) = self.start(module, &path) else { continue };
                    if let (true, Some(name)) = (before.contains("pub"), path.1.last()) {
                        let names = self.handed_on.entry(module.clone()).or_default();
                        names.insert(name.clone(), path.clone());
                    }
                    imports.push((module.clone(), path));
                }
            }
            for word in content.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':')) {
                if word.starts_with("crate::") || word.starts_with("super::") {
                    let path = word.split("::").filter(|part| !part.is_empty()).map(str::to_owned);
                    imports.extend(
                        self.start(module, &path.collect::<Vec<_>>()).map(|path| (module.clone(), path)),
                    );
                }
            }
        }
        imports
    }

    /// Returns the starting module of a path, and the rest of the path; `None` for a path to another crate.
    fn start(&self, module: &Module, path: &[String]) -> Option<(Module, Vec<String>)> {
        let above = path.iter().take_while(|part| *part == "super").count();
        let first = path.first()?;
        let (base, skip) = match first.as_str() {
            "crate" => (Module::new(), 1),
            "self" => (module.clone(), 1),
            "super" => (module[..module.len().checked_sub(above)?].to_vec(), above),
            name if self.modules.contains_key(&[module.clone(), vec![name.to_owned()]].concat()) => {
                (module.clone(), 0)
            }
            _ => return None,
        };
        Some((base, path[skip..].to_vec()))
    }

    /// Returns the module that defines the target of a path.
    fn target(&self, (mut module, path): (Module, Vec<String>), depth: usize) -> Module {
        for (at, part) in path.iter().enumerate() {
            let below = [module.clone(), vec![part.clone()]].concat();
            if !self.modules.contains_key(&below) {
                let handed_on = self.handed_on.get(&module).and_then(|names| names.get(part));
                return match handed_on {
                    Some((base, to)) if depth < MAX_STEPS => {
                        let path = [to.as_slice(), &path[at + 1..]].concat();
                        self.target((base.clone(), path), depth + 1)
                    }
                    _ => module,
                };
            }
            module = below;
        }
        module
    }
}

/// Maximum length of a chain of re-exports.
const MAX_STEPS: usize = 5;

fn is_use(text: &str) -> bool {
    let text = text.trim_start();
    let text = text.strip_prefix("pub").map_or(text, |rest| {
        let rest = rest.trim_start();
        rest.strip_prefix('(')
            .and_then(|rest| rest.split_once(')'))
            .map_or(rest, |(_, rest)| rest.trim_start())
    });
    text.starts_with("use ")
}

/// Expands a `use` tree into paths.
fn flatten_use_tree(tree: &str) -> Vec<Vec<String>> {
    let (mut depth, mut start, mut parts) = (0, 0, Vec::new());
    for (at, c) in tree.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&tree[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&tree[start..]);
    let path = |text: &str| -> Vec<String> {
        let text = text.split(" as ").next().unwrap_or(text);
        text.split("::").map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
    };
    let mut paths = Vec::new();
    for part in parts.into_iter().filter(|part| !part.trim().is_empty()) {
        match part.split_once('{') {
            None => paths.push(path(part)),
            Some((before, inner)) => {
                let inner = inner.rsplit_once('}').map_or(inner, |(inner, _)| inner);
                paths.extend(flatten_use_tree(inner).into_iter().map(|rest| [path(before), rest].concat()));
            }
        }
    }
    paths
}

/// Returns all direct and indirect imports of a module.
fn reachable_modules<'a>(
    imports: &'a BTreeMap<String, BTreeSet<String>>,
    from: &str,
) -> BTreeSet<&'a String> {
    let mut found = BTreeSet::new();
    let mut open: Vec<&String> = imports.get(from).into_iter().flatten().collect();
    while let Some(module) = open.pop() {
        if found.insert(module) {
            open.extend(imports.get(module).into_iter().flatten());
        }
    }
    found
}

#[test]
fn circles_are_found() {
    let found = |files: &[(&str, &str)]| {
        let circles = import_cycles(files.iter().copied());
        circles.into_iter().map(|circle| (circle.folder, circle.modules.join(" "))).collect::<Vec<_>>()
    };
    let circle = |folder: &str, modules: &str| vec![(folder.to_owned(), modules.to_owned())];
    let none = Vec::<(String, String)>::new();
    let a = ("crates/x/src/a.rs", "use crate::b::{B, c::C};\n");
    // Only one imports the other; comments and tests do not count.
    let b = "/// [`A`](crate::a::A)\npub struct B;\n#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}\n";
    assert_eq!(found(&[a, ("crates/x/src/b.rs", b)]), none);
    let b = [("crates/x/src/b.rs", "mod tests;\n"), ("crates/x/src/b/tests/c.rs", "use crate::a::A;\n")];
    assert_eq!(found(&[a, b[0], b[1]]), none);
    // Both import each other, one with an inline path.
    let b = ("crates/x/src/b.rs", "fn f() -> u32 {\n    crate::a::g()\n}\n");
    assert_eq!(found(&[a, b]), circle("crates/x/src", "a b"));
    // A child of one imports the other, through a re-export of the root.
    let root = ("crates/x/src/lib.rs", "mod a;\nmod b;\npub use a::A;\n");
    let child = ("crates/x/src/b/c.rs", "use super::B;\nuse crate::A as Other;\n");
    let b = ("crates/x/src/b.rs", "mod c;\npub use c::C;\npub struct B;\n");
    assert_eq!(found(&[root, a, b, child]), circle("crates/x/src", "a b"));
    // A parent and its child are not siblings; two children are, and so are three in a cycle.
    assert_eq!(found(&[b, ("crates/x/src/b/c.rs", "use super::B;\n")]), none);
    let round = [
        ("crates/x/src/b/c.rs", "use super::d::D;\n"),
        ("crates/x/src/b/d.rs", "use super::{B, e::{self, E}};\n"),
        ("crates/x/src/b/e.rs", "pub(super) use super::c::C;\n"),
    ];
    assert_eq!(found(&[b, round[0], round[1], round[2]]), circle("crates/x/src/b", "c d e"));
}
