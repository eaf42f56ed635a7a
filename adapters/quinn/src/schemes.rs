//! Schemes of `quinn-proto` and of its fork `noq-proto`.

/// Describes the schemes of the stack, one for each of its congestion controllers.
macro_rules! schemes {
    ($($STATIC:ident, $Scheme:ident: $name:literal, $Config:ty, $about:literal;)+) => {
        $(
            #[doc = concat!("The scheme `", $name, "`.")]
            #[derive(Debug)]
            pub struct $Scheme;

            impl Stack for $Scheme {
                const NAME: &'static str = $name;
                const ECN: bool = true;
                type Connection = End;

                fn open(side: Side, config: &Config, now: Time) -> End {
                    let controller: Arc<dyn ControllerFactory + Send + Sync> = Arc::new(<$Config>::default());
                    End::new(Self::NAME, side, config, controller, now)
                }
            }

            static $STATIC: SchemeDescription = scheme::<$Scheme>($about);
        )+

        /// Adds all schemes of the stack.
        pub fn register(registry: &mut Registry) {
            $(registry.add_scheme(&$STATIC);)+
        }
    };
}
