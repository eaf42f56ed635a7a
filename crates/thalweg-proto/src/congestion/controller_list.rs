//! The list of congestion controllers, from which macros generate types and selection.

/// Passes the list of controllers to the macro `$hand_to`. This crate generates types and configurations from it, the
/// catalogue generates descriptions. Each line names the file, in both places; references have this order.
///
/// - `shared`: controllers without packet data. Their senders have one common type, with
///   [`Any`](crate::congestion::Any) as the controller. A line also names the controller, its storage (boxed if
///   large, to keep senders of small controllers small) and its configuration.
/// - `dedicated`: controllers with a dedicated sender type, as
///   [`ExternalController`](crate::window::ExternalController). They may keep data with every packet, at no cost to the
///   others. A line also names the configuration.
#[macro_export]
macro_rules! controllers {
    ($hand_to:ident) => {
        $hand_to! {
            shared {
                fixed_window: FixedWindow(FixedWindow), FixedWindowConfig;
                slow_start_tahoe: SlowStart(SlowStart), SlowStartConfig;
                new_reno: NewReno(NewReno), NewRenoConfig;
                vegas: Vegas(Box<Vegas>), VegasConfig;
                cubic: Cubic(Box<Cubic>), CubicConfig;
                dctcp: Dctcp(Box<Dctcp>), DctcpConfig;
                prague: Prague(Box<Prague>), PragueConfig;
                copa: Copa(Box<Copa>), CopaConfig;
                ledbat_plus_plus: LedbatPlusPlus(Box<LedbatPlusPlus>), LedbatPlusPlusConfig;
                seif: Seif(Box<Seif>), SeifConfig;
                dec_bit: DecBit(Box<DecBit>), DecBitConfig;
                tri_s: TriS(Box<TriS>), TriSConfig;
                source_quench: SourceQuench(SourceQuench), SourceQuenchConfig;
                bbn_rations: Bbn(Box<Bbn>), BbnConfig;
            }
            dedicated {
                bbr: BbrConfig;
                thalweg: ThalwegConfig;
            }
        }
    };
}
