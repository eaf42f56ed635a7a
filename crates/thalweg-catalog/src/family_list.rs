//! The list of protocol families except the window transport, one per line.

/// Calls a macro with the families: the name, the endpoint configuration, and the names of the endpoints.
macro_rules! families {
    ($then:ident) => {
        $then! {
            Datagram: thalweg_proto::datagram::SourceConfig, DatagramSource, DatagramSink;
            AdaptiveAck: thalweg_proto::adaptive_ack::Config, AdaptiveTransmitter, AdaptiveReceiver;
            Media: thalweg_proto::media::Config, MediaSender, MediaReceiver;
            Sscop: thalweg_proto::sscop::EndpointConfig, SscopSender, SscopReceiver;
            Sstp: thalweg_proto::sstp::EndsConfig, SstpSender, SstpReceiver;
        }
    };
}

pub(crate) use families;
