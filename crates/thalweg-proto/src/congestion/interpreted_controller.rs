//! Controllers whose rules are in another language, such as Python or a page's JavaScript: the part of their configuration that does
//! not depend on the language.

use super::Controller;
use super::controller_config::{CeResponse, ConfigureController};
use crate::random::RandomStream;
use core::fmt::Debug;
use std::sync::Arc;

/// Maker of controllers with rules in another language.
pub trait Script: Debug + Send + Sync + 'static {
    /// The controller.
    type Controller: Controller<PacketInfo: Send> + Debug + Send + 'static;

    /// Name of the language, in errors.
    const LANGUAGE: &'static str;

    /// Returns the response of its controllers to CE.
    fn response(&self) -> CeResponse;

    /// Creates the controller of a new connection; `seed` is that of its random numbers, if it has a stream.
    fn controller(self: &Arc<Self>, seed: Option<u64>) -> Self::Controller;
}

/// Configuration of a controller with rules in another language. Two are equal if they have the same name and maker.
#[derive(Debug)]
pub struct ScriptedConfig<S> {
    /// Name of the scheme.
    pub name: &'static str,
    /// Maker of controllers.
    pub script: Arc<S>,
}

impl<S> Clone for ScriptedConfig<S> {
    fn clone(&self) -> Self {
        Self { name: self.name, script: Arc::clone(&self.script) }
    }
}

impl<S> PartialEq for ScriptedConfig<S> {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && Arc::ptr_eq(&self.script, &other.script)
    }
}

impl<S: Script> ConfigureController for ScriptedConfig<S> {
    type Controller = S::Controller;
    const NAME: &'static str = S::LANGUAGE;

    fn name(&self) -> &'static str {
        self.name
    }

    fn make(&self) -> S::Controller {
        self.script.controller(None)
    }

    fn draws(&self) -> bool {
        true
    }

    fn make_drawing(&self, mut stream: RandomStream) -> S::Controller {
        self.script.controller(Some(stream.next_u64()))
    }

    fn ce_response(&self) -> CeResponse {
        self.script.response()
    }
}
