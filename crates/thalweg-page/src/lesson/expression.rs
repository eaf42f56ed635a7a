//! Expressions over the results of runs, by which a lesson checks answers.
//!
//! An operand is a number, or a value of a run: `RUN.flow.NAME.METRIC`, `RUN.group.NAME.METRIC`, `RUN.link.NAME.METRIC`
//! (the first direction of the link), `RUN.total.METRIC`, or `RUN.state.FLOW.STATE`, the seconds that a flow's controller
//! spent in a state. Metrics are those of the results document. A name with dots is in double quotes; hyphens belong to
//! names, and a subtraction has spaces. Operators are `or`, `and`, `not`, comparisons, `+ - * /` and parentheses.

use serde::{Deserialize, Deserializer, de};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Maximum depth of nested parentheses and negations.
const MAX_DEPTH: usize = 32;

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    /// A number.
    Number(f64),
    /// A value of a run: the parts of its name.
    Operand(Vec<String>),
    /// The negation of a condition.
    Not(Box<Self>),
    /// Two operands of an operator.
    Binary(Operator, Box<[Self; 2]>),
}

/// An operator with two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// Either condition.
    Or,
    /// Both conditions.
    And,
    /// Less than.
    Less,
    /// At most.
    AtMost,
    /// More than.
    Greater,
    /// At least.
    AtLeast,
    /// Equal.
    Equal,
    /// Sum.
    Add,
    /// Difference.
    Subtract,
    /// Product.
    Multiply,
    /// Quotient.
    Divide,
}

/// Binary operators by precedence, the weakest first. Of those of a level the longer ones come first.
const LEVELS: [&[(&str, Operator)]; 5] = [
    &[("or", Operator::Or)],
    &[("and", Operator::And)],
    &[
        ("<=", Operator::AtMost),
        (">=", Operator::AtLeast),
        ("==", Operator::Equal),
        ("<", Operator::Less),
        (">", Operator::Greater),
    ],
    &[("+", Operator::Add), ("-", Operator::Subtract)],
    &[("*", Operator::Multiply), ("/", Operator::Divide)],
];

/// Level of comparisons, to which `not` applies.
const COMPARISON: usize = 2;

/// Results documents by the names of runs.
type Runs = BTreeMap<String, Value>;

/// A value of an expression.
#[derive(Clone, Copy, Debug, PartialEq)]
enum ExpressionValue {
    Number(f64),
    Condition(bool),
}

impl Expression {
    /// Parses an expression.
    ///
    /// # Errors
    ///
    /// A sentence with the text at the first error.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parser = Parser { rest: text.trim_start(), depth: 0 };
        let expression = parser.level(0)?;
        if parser.rest.is_empty() { Ok(expression) } else { Err(parser.unexpected_token("an operator")) }
    }

    /// Returns the names of the runs that it refers to.
    pub fn runs(&self) -> BTreeSet<String> {
        match self {
            Self::Number(_) => BTreeSet::new(),
            Self::Operand(parts) => BTreeSet::from([parts[0].clone()]),
            Self::Not(inner) => inner.runs(),
            Self::Binary(_, sides) => sides.iter().flat_map(Self::runs).collect(),
        }
    }

    /// Returns its number.
    ///
    /// # Errors
    ///
    /// A run has not the value, or the expression is a condition.
    pub fn number(&self, runs: &Runs) -> Result<f64, String> {
        match self.value(runs)? {
            ExpressionValue::Number(number) => Ok(number),
            ExpressionValue::Condition(_) => Err("the expression is a condition, not a number".to_owned()),
        }
    }

    /// Returns true if its condition holds.
    ///
    /// # Errors
    ///
    /// A run has not the value, or the expression is a number.
    pub fn holds(&self, runs: &Runs) -> Result<bool, String> {
        match self.value(runs)? {
            ExpressionValue::Condition(holds) => Ok(holds),
            ExpressionValue::Number(_) => Err("the expression is a number, not a condition".to_owned()),
        }
    }

    fn value(&self, runs: &Runs) -> Result<ExpressionValue, String> {
        match self {
            Self::Number(number) => Ok(ExpressionValue::Number(*number)),
            Self::Operand(parts) => operand_value(parts, runs).map(ExpressionValue::Number),
            Self::Not(inner) => Ok(ExpressionValue::Condition(!inner.holds(runs)?)),
            Self::Binary(operator, sides) => operator.apply(sides, runs),
        }
    }
}

impl Operator {
    fn apply(self, [left, right]: &[Expression; 2], runs: &Runs) -> Result<ExpressionValue, String> {
        let numbers = || Ok::<_, String>((left.number(runs)?, right.number(runs)?));
        Ok(match self {
            Self::Or => ExpressionValue::Condition(left.holds(runs)? || right.holds(runs)?),
            Self::And => ExpressionValue::Condition(left.holds(runs)? && right.holds(runs)?),
            Self::Less => numbers().map(|(a, b)| ExpressionValue::Condition(a < b))?,
            Self::AtMost => numbers().map(|(a, b)| ExpressionValue::Condition(a <= b))?,
            Self::Greater => numbers().map(|(a, b)| ExpressionValue::Condition(a > b))?,
            Self::AtLeast => numbers().map(|(a, b)| ExpressionValue::Condition(a >= b))?,
            Self::Equal => numbers().map(|(a, b)| ExpressionValue::Condition(a == b))?,
            Self::Add => numbers().map(|(a, b)| ExpressionValue::Number(a + b))?,
            Self::Subtract => numbers().map(|(a, b)| ExpressionValue::Number(a - b))?,
            Self::Multiply => numbers().map(|(a, b)| ExpressionValue::Number(a * b))?,
            Self::Divide => numbers().map(|(a, b)| ExpressionValue::Number(a / b))?,
        })
    }
}

/// Returns the value of a run that an operand names.
fn operand_value(parts: &[String], runs: &Runs) -> Result<f64, String> {
    let name = parts.join(".");
    let missing = || format!("the results have no value `{name}`");
    let [run, kind, rest @ ..] = parts else { return Err(missing()) };
    let run = runs.get(run).ok_or_else(|| format!("the run `{run}` is missing"))?;
    let run = &run["runs"][0];
    let named = |list: &str, name: &String| {
        let list = run[list].as_array().into_iter().flatten();
        list.into_iter().find(|item| item["name"] == name.as_str())
    };
    let (item, path) = match (kind.as_str(), rest) {
        ("total", path) => (Some(&run["totals"]), path),
        ("flow", [name, path @ ..]) => (named("flows", name), path),
        ("group", [name, path @ ..]) => (named("groups", name), path),
        ("link", [name, path @ ..]) => (named("links", name), path),
        ("state", [flow, state]) => {
            let flow = named("flows", flow).ok_or_else(missing)?;
            return Ok(time_in(flow, state));
        }
        _ => (None, rest),
    };
    let item = item.ok_or_else(missing)?;
    let value = path.iter().fold(item, |item, key| &item[key.as_str()]);
    value.as_f64().ok_or_else(missing)
}

/// Returns the seconds that a flow's controller spent in a state.
fn time_in(flow: &Value, state: &str) -> f64 {
    let visits = flow["states"].as_array().into_iter().flatten();
    let of_state = visits.filter(|visit| visit["state"] == state);
    of_state.filter_map(|visit| Some(visit["until_s"].as_f64()? - visit["from_s"].as_f64()?)).sum()
}

impl<'de> Deserialize<'de> for Expression {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(|error| de::Error::custom(format!("`{text}`: {error}")))
    }
}

/// The part of a text that is not parsed yet, without leading blanks.
struct Parser<'a> {
    rest: &'a str,
    depth: usize,
}

impl Parser<'_> {
    fn unexpected_token(&self, what: &str) -> String {
        let at: String = self.rest.chars().take(20).collect();
        if at.is_empty() {
            format!("expected {what} at the end")
        } else {
            format!("expected {what} at `{at}`")
        }
    }

    /// Parses operands of operators of a level and stronger ones.
    fn level(&mut self, level: usize) -> Result<Expression, String> {
        let Some(operators) = LEVELS.get(level) else { return self.primary() };
        let mut left = self.level(level + 1)?;
        while let Some((text, operator)) = operators.iter().find(|(text, _)| self.is_next(text)) {
            self.skip(text.len());
            let right = self.level(level + 1)?;
            left = Expression::Binary(*operator, Box::new([left, right]));
        }
        Ok(left)
    }

    /// Returns true if an operator follows; a word ends at the next letter's end.
    fn is_next(&self, operator: &str) -> bool {
        let is_word = operator.starts_with(char::is_alphabetic);
        let after = self.rest.strip_prefix(operator).and_then(|after| after.chars().next());
        self.rest.starts_with(operator) && !(is_word && after.is_some_and(is_of_name))
    }

    fn skip(&mut self, length: usize) {
        self.rest = self.rest[length..].trim_start();
    }

    fn primary(&mut self) -> Result<Expression, String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err("the expression is nested too deep".to_owned());
        }
        let found = if self.is_next("not") {
            self.skip(3);
            Expression::Not(Box::new(self.level(COMPARISON)?))
        } else if self.rest.starts_with('(') {
            self.skip(1);
            let inner = self.level(0)?;
            if !self.rest.starts_with(')') {
                return Err(self.unexpected_token("`)`"));
            }
            self.skip(1);
            inner
        } else if self.rest.starts_with(|c: char| c.is_ascii_digit()) {
            self.number()?
        } else {
            self.operand()?
        };
        self.depth -= 1;
        Ok(found)
    }

    fn number(&mut self) -> Result<Expression, String> {
        let is_of_number = |c: char| c.is_ascii_digit() || ".e".contains(c);
        let length = self.rest.find(|c| !is_of_number(c)).unwrap_or(self.rest.len());
        let number = self.rest[..length].parse().map_err(|_| self.unexpected_token("a number"))?;
        self.skip(length);
        Ok(Expression::Number(number))
    }

    fn operand(&mut self) -> Result<Expression, String> {
        let mut parts = Vec::new();
        loop {
            let (part, length) = match self.rest.strip_prefix('"') {
                Some(quoted) => {
                    let end = quoted.find('"').ok_or_else(|| self.unexpected_token("a closed name"))?;
                    (&quoted[..end], end + 2)
                }
                None => {
                    let end = self.rest.find(|c| !is_of_name(c)).unwrap_or(self.rest.len());
                    (&self.rest[..end], end)
                }
            };
            if part.is_empty() {
                return Err(self.unexpected_token("a value"));
            }
            parts.push(part.to_owned());
            self.rest = &self.rest[length..];
            match self.rest.strip_prefix('.') {
                Some(rest) => self.rest = rest,
                None => break,
            }
        }
        self.rest = self.rest.trim_start();
        Ok(Expression::Operand(parts))
    }
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '-'
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn runs() -> Runs {
        let run = json!({ "runs": [{
            "totals": { "jain": 0.5, "jitter_s": null },
            "flows": [{ "name": "a.1", "goodput_bps": 8e6, "limits": { "pacing": 0.25 },
                "states": [{ "state": "startup", "from_s": 0.0, "until_s": 1.5 }, { "state": "drain", "from_s": 1.5, "until_s": 2.0 },
                    { "state": "startup", "from_s": 2.0, "until_s": 2.5 }] }],
            "groups": [{ "name": "a", "flows": 2 }],
            "links": [{ "name": "core", "drops": 3, "from": "l" }, { "name": "core", "drops": 9, "from": "r" }],
        }]});
        Runs::from([("one-run".to_owned(), run)])
    }

    #[test]
    fn operators_bind_as_in_arithmetic() {
        let number = |text: &str| Expression::parse(text).unwrap().number(&runs());
        assert_eq!(number("1 + 2 * 3 - 4 / 2"), Ok(5.0));
        assert_eq!(number("(1 + 2) * 3"), Ok(9.0));
        assert_eq!(number("10 - 2 - 3"), Ok(5.0));
        assert_eq!(number("2e3 / 1.5e3 * 3"), Ok(4.0));
        let holds = |text: &str| Expression::parse(text).unwrap().holds(&runs());
        assert_eq!(holds("1 < 2 and not 2 <= 1 or 1 == 2"), Ok(true));
        assert_eq!(holds("1 > 2 or 3 >= 3 and 2 > 3"), Ok(false));
    }

    #[test]
    fn operands_are_values_of_results() {
        let number = |text: &str| Expression::parse(text).unwrap().number(&runs());
        assert_eq!(number("one-run.flow.\"a.1\".goodput_bps / 1e6"), Ok(8.0));
        assert_eq!(number("one-run.flow.\"a.1\".limits.pacing"), Ok(0.25));
        assert_eq!(number("one-run.group.a.flows"), Ok(2.0));
        assert_eq!(number("one-run.link.core.drops"), Ok(3.0), "the first direction");
        assert_eq!(number("one-run.state.\"a.1\".startup"), Ok(2.0));
        assert_eq!(number("one-run.state.\"a.1\".probe"), Ok(0.0));
        assert_eq!(number("one-run.total.jain"), Ok(0.5));
        for missing in
            ["one-run.total.jitter_s", "one-run.flow.b.goodput_bps", "one-run.total", "one-run.x.y"]
        {
            assert!(number(missing).unwrap_err().starts_with("the results have no value"), "{missing}");
        }
        assert_eq!(number("two.total.jain"), Err("the run `two` is missing".to_owned()));
        assert!(number("1 < 2").is_err());
        assert!(Expression::parse("1").unwrap().holds(&runs()).is_err());
    }

    #[test]
    fn invalid_expressions_are_refused_where_they_end() {
        let error = |text: &str| Expression::parse(text).unwrap_err();
        assert_eq!(error("1 +"), "expected a value at the end");
        assert_eq!(error("(1"), "expected `)` at the end");
        assert_eq!(error("1 2"), "expected an operator at `2`");
        assert_eq!(error("a..b"), "expected a value at `.b`");
        assert_eq!(error("\"a"), "expected a closed name at `\"a`");
        assert_eq!(error("1.2.3"), "expected a number at `1.2.3`");
        assert_eq!(error(&"(".repeat(100)), "the expression is nested too deep");
        assert_eq!(error(&"not ".repeat(100)), "the expression is nested too deep");
    }

    #[test]
    fn the_runs_of_an_expression_are_known() {
        let expression = Expression::parse("a.total.x > b-c.total.y and not 1 < a.total.z").unwrap();
        assert_eq!(expression.runs().into_iter().collect::<Vec<_>>(), ["a", "b-c"]);
    }
}
