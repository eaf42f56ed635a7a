//! The list of protocol families beside the window transport: a line for each.

/// Calls a macro with the families: the name, the configuration of both ends, and the names of the ends.
macro_rules! families {
    ($then:ident) => {
        $then! {
            Datagram: thalweg_proto::datagram::SourceConfig, DatagramSource, DatagramSink;
            AdaptiveAck: thalweg_proto::aack::Config, AdaptiveTransmitter, AdaptiveReceiver;
            Media: thalweg_proto::media::Config, MediaSender, MediaReceiver;
            Sscop: thalweg_proto::sscop::EndpointConfig, SscopSender, SscopReceiver;
            Sstp: thalweg_proto::sstp::EndsConfig, SstpSender, SstpReceiver;
        }
    };
}

pub(crate) use families;
