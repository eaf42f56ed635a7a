// A fat tree in ns-3, in which each host sends to one other: the twin of htsim.cc's.
//
// Prints one line of JSON. fat_tree_comparison.py compiles this file; by hand:
//
//   g++ -O2 -std=c++17 fabric.cc -o fabric -lns3-applications -lns3-traffic-control
//   -lns3-point-to-point -lns3-internet -lns3-network -lns3-core

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <cstdio>
#include <ctime>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

using namespace ns3;

static uint64_t g_hops = 0;
static uint64_t g_drops = 0;

static void CountHop(Ptr<const Packet>) { ++g_hops; }
static void CountDrop(Ptr<const QueueDiscItem>) { ++g_drops; }

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

// Numbers that look random, the same in each run, as htsim.cc has them.
class Draws
{
  public:
    explicit Draws(uint64_t seed) : m_state(seed * 2862933555777941757ULL + 3037000493ULL) {}

    uint64_t Below(uint64_t end)
    {
        m_state = m_state * 6364136223846793005ULL + 1442695040888963407ULL;
        return (m_state >> 33) % end;
    }

  private:
    uint64_t m_state;
};

int main(int argc, char* argv[])
{
    std::string cc = "dctcp";
    uint32_t k = 4;
    double rate = 10e9;
    double delay = 1e-6;
    uint32_t buffer = 300;
    uint32_t threshold = 65;
    double duration = 0.01;
    uint32_t payload = 1448;
    uint32_t seed = 1;
    uint32_t iw = 10;

    CommandLine cmd(__FILE__);
    cmd.AddValue("cc", "dctcp | newreno", cc);
    cmd.AddValue("k", "ports of a switch", k);
    cmd.AddValue("rate", "of all lines, bit/s", rate);
    cmd.AddValue("delay", "of all lines, s", delay);
    cmd.AddValue("buffer", "of all queues, packets", buffer);
    cmd.AddValue("threshold", "above which packets are marked", threshold);
    cmd.AddValue("duration", "simulated time, s", duration);
    cmd.AddValue("payload", "payload bytes of a segment", payload);
    cmd.AddValue("seed", "of who sends to whom, and by which way", seed);
    cmd.AddValue("iw", "initial window, segments", iw);
    cmd.Parse(argc, argv);

    bool isDctcp = cc == "dctcp";
    Config::SetDefault("ns3::TcpL4Protocol::SocketType",
                       TypeIdValue(TypeId::LookupByName(isDctcp ? "ns3::TcpDctcp" : "ns3::TcpNewReno")));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(10)));
    Config::SetDefault("ns3::TcpSocketBase::ClockGranularity", TimeValue(MicroSeconds(100)));
    Config::SetDefault("ns3::TcpSocket::ConnTimeout", TimeValue(MilliSeconds(10)));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(payload));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(iw));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(4000000));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(4000000));

    uint32_t half = k / 2;
    uint32_t hosts = k * half * half;
    uint32_t edges = hosts;
    uint32_t aggregates = edges + k * half;
    uint32_t cores = aggregates + k * half;
    NodeContainer nodes(cores + half * half);
    InternetStackHelper stack;
    Ipv4StaticRoutingHelper routing;
    stack.SetRoutingHelper(routing);
    stack.SetIpv6StackInstall(false);
    stack.Install(nodes);

    PointToPointHelper line;
    line.SetDeviceAttribute("DataRate", DataRateValue(DataRate(uint64_t(rate))));
    line.SetChannelAttribute("Delay", TimeValue(Seconds(delay)));
    line.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1p"));
    TrafficControlHelper control;
    if (isDctcp)
    {
        // A threshold on the queue as it is: no average, and marks in place of drops up to the limit.
        control.SetRootQueueDisc("ns3::RedQueueDisc",
                                 "MinTh", DoubleValue(threshold),
                                 "MaxTh", DoubleValue(threshold),
                                 "QW", DoubleValue(1),
                                 "MeanPktSize", UintegerValue(payload + 52),
                                 "LinkBandwidth", DataRateValue(DataRate(uint64_t(rate))),
                                 "UseEcn", BooleanValue(true),
                                 "UseHardDrop", BooleanValue(false),
                                 "MaxSize", QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, buffer)));
    }
    else
    {
        control.SetRootQueueDisc("ns3::FifoQueueDisc",
                                 "MaxSize", QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, buffer)));
    }

    Ipv4AddressHelper address("10.0.0.0", "255.255.255.252");
    // The interface of the first node on the line to the second.
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> interfaces;
    std::vector<Ipv4Address> addresses(hosts);
    auto join = [&](uint32_t a, uint32_t b) {
        NetDeviceContainer devices = line.Install(nodes.Get(a), nodes.Get(b));
        QueueDiscContainer discs = control.Install(devices);
        Ipv4InterfaceContainer ends = address.Assign(devices);
        address.NewNetwork();
        interfaces[{a, b}] = ends.Get(0).second;
        interfaces[{b, a}] = ends.Get(1).second;
        if (a < hosts)
        {
            addresses[a] = ends.GetAddress(0);
        }
        for (uint32_t i = 0; i < 2; i++)
        {
            devices.Get(i)->TraceConnectWithoutContext("PhyTxEnd", MakeCallback(&CountHop));
            discs.Get(i)->TraceConnectWithoutContext("Drop", MakeCallback(&CountDrop));
        }
    };
    for (uint32_t host = 0; host < hosts; host++)
    {
        join(host, edges + host / half);
    }
    for (uint32_t pod = 0; pod < k; pod++)
    {
        for (uint32_t i = 0; i < half; i++)
        {
            for (uint32_t j = 0; j < half; j++)
            {
                join(edges + pod * half + i, aggregates + pod * half + j);
                join(aggregates + pod * half + i, cores + i * half + j);
            }
        }
    }

    Draws draws(seed);
    // The next node from a node to a host, drawn once.
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> next;
    auto step = [&](uint32_t at, uint32_t to) {
        uint32_t pod = to / (half * half);
        if (at < hosts)
        {
            return edges + at / half;
        }
        if (at < aggregates)
        {
            uint32_t of = (at - edges) / half;
            return at == edges + to / half ? to : aggregates + of * half + uint32_t(draws.Below(half));
        }
        if (at < cores)
        {
            uint32_t of = (at - aggregates) / half;
            uint32_t place = (at - aggregates) % half;
            return of == pod ? edges + to / half : cores + place * half + uint32_t(draws.Below(half));
        }
        return aggregates + pod * half + (at - cores) / half;
    };
    auto lead = [&](uint32_t from, uint32_t to) {
        for (uint32_t at = from; at != to;)
        {
            auto known = next.find({at, to});
            if (known == next.end())
            {
                known = next.insert({{at, to}, step(at, to)}).first;
                routing.GetStaticRouting(nodes.Get(at)->GetObject<Ipv4>())
                    ->AddHostRouteTo(addresses[to], interfaces.at({at, known->second}));
            }
            at = known->second;
        }
    };

    std::vector<uint32_t> sinks(hosts);
    for (uint32_t i = 0; i < hosts; i++)
    {
        sinks[i] = i;
    }
    for (uint32_t i = hosts - 1; i > 0; i--)
    {
        std::swap(sinks[i], sinks[draws.Below(i)]);
    }
    ApplicationContainer receivers;
    for (uint32_t host = 0; host < hosts; host++)
    {
        uint32_t sink = sinks[host];
        lead(host, sink);
        lead(sink, host);
        PacketSinkHelper takes("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 5000));
        receivers.Add(takes.Install(nodes.Get(sink)));
        BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(addresses[sink], 5000));
        bulk.SetAttribute("SendSize", UintegerValue(payload));
        bulk.Install(nodes.Get(host)).Start(NanoSeconds(draws.Below(1000)));
    }

    Simulator::Stop(Seconds(duration));
    double setup = double(std::clock()) / CLOCKS_PER_SEC;
    Simulator::Run();

    double sum = 0;
    double squares = 0;
    for (uint32_t host = 0; host < hosts; host++)
    {
        double bytes = double(DynamicCast<PacketSink>(receivers.Get(host))->GetTotalRx());
        sum += bytes;
        squares += bytes * bytes;
    }
    std::printf("{\"peer\":\"ns-3\",\"flows\":%u,\"duration_s\":%g,\"goodput_mbps\":%.4f,\"jain\":%.5f,"
                "\"drops\":%lu,\"packet_hops\":%lu,\"events\":%lu,\"setup_cpu_s\":%.2f,\"max_rss_kb\":%ld}\n",
                hosts,
                duration,
                sum * 8 / duration / 1e6,
                squares > 0 ? sum * sum / (hosts * squares) : 0.0,
                (unsigned long)g_drops,
                (unsigned long)g_hops,
                (unsigned long)Simulator::GetEventCount(),
                setup,
                MaxRssKb());
    Simulator::Destroy();
    return 0;
}
