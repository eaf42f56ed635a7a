//! The endpoint configurations of a connection of any family.

use crate::external_family::ExternalFamily;
use crate::family_list::families;
use crate::protocol_family::{Family, Properties};
use thalweg_proto::{handshake, window};

macro_rules! ends {
    ($($Family:ident: $Config:ty, $Sender:ident, $Receiver:ident;)+) => {
        /// The endpoint configurations of a scheme.
        #[derive(Clone, Debug, PartialEq)]
        pub enum EndpointConfigs {
            /// The window transport.
            Window(window::EndsConfig),
            $(
                #[doc = concat!("Those of the family `", stringify!($Family), "`.")]
                $Family($Config),
            )+
            /// A family of another crate.
            External(ExternalFamily),
        }

        impl EndpointConfigs {
            /// Returns the properties of the configured family.
            pub fn properties(&self) -> &dyn Properties {
                match self {
                    Self::Window(config) => config,
                    $(Self::$Family(config) => config,)+
                    Self::External(family) => family.properties(),
                }
            }

            /// Returns the properties of the family mutably.
            pub fn properties_mut(&mut self) -> &mut dyn Properties {
                match self {
                    Self::Window(config) => config,
                    $(Self::$Family(config) => config,)+
                    Self::External(family) => family.properties_mut(),
                }
            }
        }

        $(
            impl From<$Config> for EndpointConfigs {
                fn from(config: $Config) -> Self {
                    Self::$Family(config)
                }
            }

            const _: fn() = is_family::<$Config>;
        )+
    };
}
families!(ends);

/// Asserts at compile time that each listed type is a family.
fn is_family<F: Family>() {}

impl From<window::EndsConfig> for EndpointConfigs {
    fn from(config: window::EndsConfig) -> Self {
        Self::Window(config)
    }
}

impl From<ExternalFamily> for EndpointConfigs {
    fn from(family: ExternalFamily) -> Self {
        Self::External(family)
    }
}

impl EndpointConfigs {
    /// Returns the handshake of simulated connections, if they have one. On real paths all have the same.
    pub fn handshake(&self) -> Option<handshake::Config> {
        if let Self::Window(config) = self { config.handshake } else { None }
    }

    /// Returns the name of a component that is not built in: a family, or the controller of a window sender.
    pub fn external_name(&self) -> Option<&'static str> {
        match self {
            Self::Window(config) => config.controller.external().map(window::ExternalController::name),
            Self::External(family) => Some(family.name()),
            _ => None,
        }
    }
}
