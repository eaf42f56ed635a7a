//! The configurations of controllers, and which of them a sender is to have.

use super::*;
use crate::payload::Payload;
use crate::random::Stream;
use crate::window::{AnySender, Carried, CustomController, Sender, SenderConfig};
use std::sync::Arc;

/// A window sender with the controller that was asked for.
#[derive(Debug)]
pub enum MadeSender<P: Payload> {
    /// One of those that share a type.
    Listed(Box<Sender<P, Any>>),
    /// One of a type of its own.
    Custom(Box<dyn AnySender<P>>),
}

macro_rules! configurations {
    (shared { $($file:ident: $Name:ident($Held:ty), $Config:ident;)+ } apart { $($apart:ident: $Apart:ident;)* }) => {
        /// A controller with its configuration: one that [`Any`] has, or one with a sender of its own.
        #[derive(Clone, Debug, PartialEq)]
        pub enum ControllerConfig {
            $(
                #[doc = concat!("The controller [`", stringify!($Name), "`](super::", stringify!($Name), ").")]
                $Name($Config),
            )+
            /// A controller with a sender of its own, of this crate or another.
            Custom(CustomController),
        }

        impl ControllerConfig {
            /// The configuration, if it is one of type `C`.
            pub fn config<C: ConfigureController>(&self) -> Option<&C> {
                let config: &dyn core::any::Any = match self {
                    $(Self::$Name(config) => config,)+
                    Self::Custom(custom) => return custom.config(),
                };
                config.downcast_ref()
            }

            /// The controller, if it is of another crate.
            pub fn foreign(&self) -> Option<&CustomController> {
                let is_apart = |custom: &&CustomController| $(custom.config::<$Apart>().is_some() ||)* false;
                self.custom().filter(|custom| !is_apart(custom))
            }
        }

        $(impl From<$Config> for ControllerConfig {
            fn from(config: $Config) -> Self {
                Self::$Name(config)
            }
        })+

        // Their senders are compiled here, and not where descriptions are.
        $(impl From<$Apart> for ControllerConfig {
            fn from(config: $Apart) -> Self {
                Self::Custom(CustomController::new(config))
            }
        })*

        /// Asks the configuration, whichever it is.
        macro_rules! ask {
            ($any:expr, $config:ident => $question:expr) => {
                match $any {
                    $(ControllerConfig::$Name($config) => $question,)+
                    ControllerConfig::Custom($config) => $question,
                }
            };
        }
    };
}
controllers!(configurations);

impl ControllerConfig {
    /// The sender of a new connection, and whether its controller is one of those that share a type. The controller draws from `stream`
    /// if it [draws](Self::draws).
    pub fn sender<P: Carried>(&self, config: Arc<SenderConfig>, stream: Option<Stream>) -> MadeSender<P> {
        match Any::new(self) {
            Ok(controller) => MadeSender::Listed(Box::new(Sender::new(config, controller))),
            Err(custom) => MadeSender::Custom(custom.sender(config, stream)),
        }
    }

    /// The controller, if it has a sender of its own.
    pub fn custom(&self) -> Option<&CustomController> {
        if let Self::Custom(custom) = self { Some(custom) } else { None }
    }

    /// The way in which the controller [reacts to CE](ConfigureController::ce_response).
    pub fn ce_response(&self) -> CeResponse {
        ask!(self, config => config.ce_response())
    }

    /// The [messages that routers should send](ConfigureController::feedback) to flows of this controller.
    pub fn feedback(&self) -> Option<FeedbackKind> {
        ask!(self, config => config.feedback())
    }

    /// True if the controller [draws random numbers](ConfigureController::draws).
    pub fn draws(&self) -> bool {
        self.custom().is_some_and(CustomController::draws)
    }

    /// True if flows of this controller [need these messages](ConfigureController::needs_feedback).
    pub fn needs_feedback(&self) -> bool {
        ask!(self, config => config.needs_feedback())
    }
}
