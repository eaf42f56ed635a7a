// Dumbbell of greedy TCP flows in ns-3: the twin of dumbbell.tcl.
//
//   src_i --access-- R1 ==bottleneck== R2 --access-- dst_i
//
// Prints one line of JSON. No random number is drawn: two runs give the same
// result. simulator_comparison.py compiles this file; by hand:
//
//   g++ -O2 -std=c++17 dumbbell.cc -o dumbbell -lns3-applications
//   -lns3-point-to-point -lns3-internet -lns3-network -lns3-core

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"

#include <cstdio>
#include <ctime>
#include <fstream>
#include <iostream>
#include <map>
#include <string>
#include <vector>

using namespace ns3;

static uint64_t g_hops = 0;
static uint64_t g_drops = 0;

static void CountHop(Ptr<const Packet>) { ++g_hops; }
static void CountDrop(Ptr<const Packet>) { ++g_drops; }

static long MaxRssKb()
{
    std::ifstream status("/proc/self/status");
    std::string line;
    while (std::getline(status, line))
    {
        if (line.rfind("VmHWM:", 0) == 0)
        {
            return std::stol(line.substr(6));
        }
    }
    return 0;
}

int main(int argc, char* argv[])
{
    std::string scenario = "custom";
    std::string cc = "sack";
    uint32_t flows = 10;
    double rate = 100e6;
    double delay = 0.010;
    uint32_t buffer = 625;
    double access = 1e9;
    double adelay = 0.001;
    double duration = 60;
    double warmup = 0;
    uint32_t payload = 1000;
    uint32_t window = 4000000;
    uint32_t iw = 10;
    double minrto = 0.2;
    double stagger = 0;
    bool timestamps = false;

    CommandLine cmd(__FILE__);
    cmd.AddValue("scenario", "label copied to the output", scenario);
    cmd.AddValue("cc", "sack | newreno | vegas | cubic", cc);
    cmd.AddValue("flows", "number of flows", flows);
    cmd.AddValue("rate", "bottleneck rate, bit/s", rate);
    cmd.AddValue("delay", "bottleneck delay, s", delay);
    cmd.AddValue("buffer", "bottleneck buffer, packets", buffer);
    cmd.AddValue("access", "access rate, bit/s", access);
    cmd.AddValue("adelay", "access delay, s", adelay);
    cmd.AddValue("duration", "simulated time, s", duration);
    cmd.AddValue("warmup", "goodput is counted after this time, s", warmup);
    cmd.AddValue("payload", "payload bytes of a segment", payload);
    cmd.AddValue("window", "send and receive buffer, bytes", window);
    cmd.AddValue("iw", "initial window, segments", iw);
    cmd.AddValue("minrto", "least retransmission timeout, s", minrto);
    cmd.AddValue("stagger", "time between two starts, s", stagger);
    cmd.AddValue("timestamps", "TCP timestamps option", timestamps);
    cmd.Parse(argc, argv);

    // "sack" and "newreno" both run TcpNewReno, with and without SACK.
    const std::map<std::string, std::string> types = {{"sack", "ns3::TcpNewReno"},
                                                      {"newreno", "ns3::TcpNewReno"},
                                                      {"vegas", "ns3::TcpVegas"},
                                                      {"cubic", "ns3::TcpCubic"}};
    if (types.find(cc) == types.end())
    {
        std::cerr << "unknown cc " << cc << "\n";
        return 2;
    }
    bool sack = cc == "sack" || cc == "cubic";
    Config::SetDefault("ns3::TcpL4Protocol::SocketType",
                       TypeIdValue(TypeId::LookupByName(types.at(cc))));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(sack));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(timestamps));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(Seconds(minrto)));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(payload));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(iw));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(window));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(window));

    NodeContainer routers(2);
    NodeContainer sources(flows);
    NodeContainer sinks(flows);
    InternetStackHelper stack;
    Ipv4StaticRoutingHelper routing;
    stack.SetRoutingHelper(routing);
    stack.SetIpv6StackInstall(false);
    stack.InstallAll();

    PointToPointHelper middle;
    middle.SetDeviceAttribute("DataRate", DataRateValue(DataRate(uint64_t(rate))));
    middle.SetChannelAttribute("Delay", TimeValue(Seconds(delay)));
    PointToPointHelper edge;
    edge.SetDeviceAttribute("DataRate", DataRateValue(DataRate(uint64_t(access))));
    edge.SetChannelAttribute("Delay", TimeValue(Seconds(adelay)));
    edge.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1000000p"));

    // Without flow control between the device and the layer above, no queue disc
    // (FqCoDel by default) is put on top of the drop-tail queue of the device,
    // and packets are dropped, and counted, in that queue.
    middle.DisableFlowControl();
    edge.DisableFlowControl();

    // One subnet per link.
    Ipv4AddressHelper address("10.0.0.0", "255.255.255.252");
    auto connect = [&](PointToPointHelper& link, Ptr<Node> a, Ptr<Node> b, Ipv4InterfaceContainer& ends) {
        NetDeviceContainer devices = link.Install(a, b);
        ends = address.Assign(devices);
        address.NewNetwork();
        devices.Get(0)->TraceConnectWithoutContext("PhyTxEnd", MakeCallback(&CountHop));
        devices.Get(1)->TraceConnectWithoutContext("PhyTxEnd", MakeCallback(&CountHop));
        return devices;
    };
    auto default_route = [&](Ptr<Node> node, Ipv4Address next) {
        routing.GetStaticRouting(node->GetObject<Ipv4>())->SetDefaultRoute(next, 1);
    };

    Ipv4InterfaceContainer core;
    Ipv4InterfaceContainer left;
    Ipv4InterfaceContainer right;
    middle.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue(std::to_string(buffer) + "p"));
    NetDeviceContainer bottleneck = connect(middle, routers.Get(0), routers.Get(1), core);
    DynamicCast<PointToPointNetDevice>(bottleneck.Get(0))
        ->GetQueue()
        ->TraceConnectWithoutContext("Drop", MakeCallback(&CountDrop));
    default_route(routers.Get(0), core.GetAddress(1));
    default_route(routers.Get(1), core.GetAddress(0));

    const uint16_t port = 5000;
    ApplicationContainer receivers;
    for (uint32_t i = 0; i < flows; i++)
    {
        connect(edge, sources.Get(i), routers.Get(0), left);
        default_route(sources.Get(i), left.GetAddress(1));
        connect(edge, sinks.Get(i), routers.Get(1), right);
        default_route(sinks.Get(i), right.GetAddress(1));

        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
        receivers.Add(sink.Install(sinks.Get(i)));
        BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(right.GetAddress(0), port));
        bulk.SetAttribute("SendSize", UintegerValue(payload));
        bulk.Install(sources.Get(i)).Start(Seconds(i * stagger));
    }

    std::vector<double> base(flows, 0.0);
    auto received = [&](uint32_t i) {
        return double(DynamicCast<PacketSink>(receivers.Get(i))->GetTotalRx());
    };
    Simulator::Schedule(Seconds(warmup), [&]() {
        for (uint32_t i = 0; i < flows; i++)
        {
            base[i] = received(i);
        }
    });
    Simulator::Stop(Seconds(duration));
    double setup_cpu = double(std::clock()) / CLOCKS_PER_SEC;
    Simulator::Run();

    double sum = 0;
    double squares = 0;
    for (uint32_t i = 0; i < flows; i++)
    {
        double x = received(i) - base[i];
        sum += x;
        squares += x * x;
    }
    // On the wire: payload + TCP 20 (+12 with timestamps) + IP 20 + PPP 2.
    double wire = payload + 42.0 + (timestamps ? 12 : 0);
    double mbps = sum * 8 / (duration - warmup) / 1e6;
    std::printf("{\"peer\":\"ns-3\",\"scenario\":\"%s\",\"cc\":\"%s\",\"flows\":%u,"
                "\"duration_s\":%g,\"goodput_mbps\":%.4f,\"acked_wire_mbps\":%.4f,"
                "\"jain\":%.5f,\"drops\":%lu,\"packet_hops\":%lu,\"setup_cpu_s\":%.2f,\"max_rss_kb\":%ld}\n",
                scenario.c_str(),
                cc.c_str(),
                flows,
                duration,
                mbps,
                mbps * wire / payload,
                squares > 0 ? sum * sum / (flows * squares) : 0.0,
                (unsigned long)g_drops,
                (unsigned long)g_hops,
                setup_cpu,
                MaxRssKb());
    Simulator::Destroy();
    return 0;
}
