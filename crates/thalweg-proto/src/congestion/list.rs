//! The list of controllers.

/// Hands the list of controllers to the macro `$hand_to`, which makes of it what it needs: their types and
/// configurations here, their descriptions in the catalogue. A line names the file, in both places; the order is that of
/// references.
///
/// - `shared`: controllers that keep nothing with a packet. Their senders have one type, with [`Any`](crate::congestion::Any) of them. A line also names the controller, what holds it there (a box
///   where it is large, so that senders with small ones stay small) and its configuration.
/// - `apart`: controllers each of which has a type of sender of its own, as a
///   [`ExternalController`](crate::window::ExternalController). They may keep what they need with every packet, and cost the
///   others nothing. A line also names the configuration.
#[macro_export]
macro_rules! controllers {
    ($hand_to:ident) => {
        $hand_to! {
            shared {
                fixed: Fixed(Fixed), FixedConfig;
                slow_start: SlowStart(SlowStart), SlowStartConfig;
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
                bbn: Bbn(Box<Bbn>), BbnConfig;
            }
            apart {
                bbr: BbrConfig;
                thalweg: ThalwegConfig;
            }
        }
    };
}
