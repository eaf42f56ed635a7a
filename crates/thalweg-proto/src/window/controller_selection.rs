//! Selects the congestion controller of a window sender by configuration.

use super::{AnySender, ControllerPayload, ExternalController, Sender, SenderConfig};
use crate::congestion::*;
use crate::payload::Payload;
use crate::random::RandomStream;
use crate::units::Duration;
use std::sync::Arc;

/// Window sender with the configured controller.
#[derive(Debug)]
pub enum MadeSender<P: Payload> {
    /// Sender of a controller in the shared list.
    Listed(Box<Sender<P, Any>>),
    /// Sender of a controller with its own sender type.
    Dedicated(Box<dyn AnySender<P>>),
}

macro_rules! configurations {
    (shared { $($file:ident: $Name:ident($Held:ty), $Config:ident;)+ } dedicated { $($dedicated:ident: $Dedicated:ident;)* }) => {
        /// Controller with its configuration: a member of [`Any`], or one with its own sender type.
        #[derive(Clone, Debug, PartialEq)]
        pub enum ControllerConfig {
            $(
                #[doc = concat!("The controller [`", stringify!($Name), "`](crate::congestion::", stringify!($Name), ").")]
                $Name($Config),
            )+
            /// Controller with its own sender type, of this crate or another.
            Dedicated(ExternalController),
        }

        impl ControllerConfig {
            /// Creates the controller of a new connection, if it shares the common sender type.
            ///
            /// # Errors
            ///
            /// The controller has its own sender type.
            pub fn shared(&self) -> Result<Any, &ExternalController> {
                Ok(match self {
                    $(Self::$Name(config) => Any::$Name(config.make().into()),)+
                    Self::Dedicated(dedicated) => return Err(dedicated),
                })
            }

            /// Returns the configuration, if it is of type `C`.
            pub fn config<C: ConfigureController>(&self) -> Option<&C> {
                let config: &dyn core::any::Any = match self {
                    $(Self::$Name(config) => config,)+
                    Self::Dedicated(dedicated) => return dedicated.config(),
                };
                config.downcast_ref()
            }

            /// Returns the controller, if it comes from another crate.
            pub fn external(&self) -> Option<&ExternalController> {
                let is_dedicated = |dedicated: &&ExternalController| $(dedicated.config::<$Dedicated>().is_some() ||)* false;
                self.dedicated().filter(|dedicated| !is_dedicated(dedicated))
            }
        }

        $(impl From<$Config> for ControllerConfig {
            fn from(config: $Config) -> Self {
                Self::$Name(config)
            }
        })+

        // Their senders are compiled in this crate, not in the crate of their descriptions.
        $(impl From<$Dedicated> for ControllerConfig {
            fn from(config: $Dedicated) -> Self {
                Self::Dedicated(ExternalController::new(config))
            }
        })*

        /// Calls a method of the configuration, whatever its type.
        macro_rules! dispatch {
            ($any:expr, $config:ident => $call:expr) => {
                match $any {
                    $(ControllerConfig::$Name($config) => $call,)+
                    ControllerConfig::Dedicated($config) => $call,
                }
            };
        }
    };
}
crate::controllers!(configurations);

impl ControllerConfig {
    /// Creates the sender of a new connection, with a shared or its own sender type. The controller draws from `stream`
    /// if it [draws](Self::draws).
    pub fn sender<P: ControllerPayload>(
        &self,
        config: Arc<SenderConfig>,
        stream: Option<RandomStream>,
    ) -> MadeSender<P> {
        match self.shared() {
            Ok(controller) => MadeSender::Listed(Box::new(Sender::new(config, controller))),
            Err(dedicated) => MadeSender::Dedicated(dedicated.sender(config, stream)),
        }
    }

    /// Returns the controller, if it has its own sender type.
    pub fn dedicated(&self) -> Option<&ExternalController> {
        if let Self::Dedicated(dedicated) = self { Some(dedicated) } else { None }
    }

    /// Returns the controller's [response to CE](ConfigureController::ce_response).
    pub fn ce_response(&self) -> CeResponse {
        dispatch!(self, config => config.ce_response())
    }

    /// Returns the [messages that routers should send](ConfigureController::feedback) to flows of this controller.
    pub fn feedback(&self) -> Option<FeedbackKind> {
        dispatch!(self, config => config.feedback())
    }

    /// Returns the [queueing delay](ConfigureController::queue_target) that flows of this controller aim at.
    pub fn queue_target(&self, path: &SharedPath) -> Option<Duration> {
        dispatch!(self, config => config.queue_target(path))
    }

    /// Returns true if the controller [draws random numbers](ConfigureController::draws).
    pub fn draws(&self) -> bool {
        self.dedicated().is_some_and(ExternalController::draws)
    }

    /// Returns true if flows of this controller [need these messages](ConfigureController::needs_feedback).
    pub fn needs_feedback(&self) -> bool {
        dispatch!(self, config => config.needs_feedback())
    }
}
