//! What the command line's parser says about its errors.

use clap::error::{ContextKind, ContextValue};

/// Returns the texts of an error in this respect, such as the argument that is not valid.
pub fn context_texts(error: &clap::Error, kind: ContextKind) -> Vec<String> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => vec![text.clone()],
        Some(ContextValue::Strings(texts)) => texts.clone(),
        _ => Vec::new(),
    }
}
