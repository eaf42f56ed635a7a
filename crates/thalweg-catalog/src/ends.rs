//! The configurations of both ends of a connection of any family.

use crate::families::families;
use crate::family::{Family, Properties};
use crate::own::ExternalFamily;
use thalweg_proto::{handshake, window};

macro_rules! ends {
    ($($Family:ident: $Config:ty, $Sender:ident, $Receiver:ident;)+) => {
        /// The configurations of both ends of a scheme.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Ends {
            /// The window transport.
            Window(window::EndsConfig),
            $(
                #[doc = concat!("Those of the family `", stringify!($Family), "`.")]
                $Family($Config),
            )+
            /// A family of another crate.
            Own(ExternalFamily),
        }

        impl Ends {
            /// Returns the properties of the configured family.
            pub fn properties(&self) -> &dyn Properties {
                match self {
                    Self::Window(config) => config,
                    $(Self::$Family(config) => config,)+
                    Self::Own(family) => family.properties(),
                }
            }

            /// Returns the properties of the family mutably.
            pub fn properties_mut(&mut self) -> &mut dyn Properties {
                match self {
                    Self::Window(config) => config,
                    $(Self::$Family(config) => config,)+
                    Self::Own(family) => family.properties_mut(),
                }
            }
        }

        $(
            impl From<$Config> for Ends {
                fn from(config: $Config) -> Self {
                    Self::$Family(config)
                }
            }

            const _: fn() = is_family::<$Config>;
        )+
    };
}
families!(ends);

/// Each of the list is a family.
fn is_family<F: Family>() {}

impl From<window::EndsConfig> for Ends {
    fn from(config: window::EndsConfig) -> Self {
        Self::Window(config)
    }
}

impl From<ExternalFamily> for Ends {
    fn from(family: ExternalFamily) -> Self {
        Self::Own(family)
    }
}

impl Ends {
    /// Returns the handshake of simulated connections, if they have one. On real paths all have the same.
    pub fn handshake(&self) -> Option<handshake::Config> {
        if let Self::Window(config) = self { config.handshake } else { None }
    }

    /// Returns the name of a component that is not built in: a family, or the controller of a window sender.
    pub fn external_name(&self) -> Option<&'static str> {
        match self {
            Self::Window(config) => config.controller.foreign().map(window::ExternalController::name),
            Self::Own(family) => Some(family.name()),
            _ => None,
        }
    }
}
