// One queue discipline of ns-3 between given arrivals and a line of a given rate: the twin of queues.tcl.
//
//   queues ARRIVALS DISCIPLINE RATE SEED [ATTRIBUTE=VALUE...]
//
// ARRIVALS has a line "seconds flow bytes" for each packet, in order of time. Prints for each packet that left: its flow
// and its wait in seconds. The discipline is asked as a device with no queue of its own would ask it: at an arrival, and
// when the line has sent a packet. queue_comparison.py compiles this file.

#include "ns3/core-module.h"
#include "ns3/network-module.h"
#include "ns3/traffic-control-module.h"

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

using namespace ns3;

struct Arrival
{
    Time at;
    uint32_t flow;
    uint32_t bytes;
};

// A packet of which the discipline learns its size and its flow.
class Item : public QueueDiscItem
{
  public:
    Item(const Arrival& arrival)
        : QueueDiscItem(Create<Packet>(arrival.bytes), Address(), 0),
          flow(arrival.flow),
          came(arrival.at)
    {
    }

    void AddHeader() override {}

    bool Mark() override
    {
        return false;
    }

    // Flows are told apart without collisions.
    uint32_t Hash(uint32_t) const override
    {
        return flow;
    }

    const uint32_t flow;
    const Time came;
};

static std::vector<Arrival> g_arrivals;
static size_t g_next = 0;
static Ptr<QueueDisc> g_queue;
static DataRate g_rate;
static bool g_busy = false;

static void
Send()
{
    g_busy = false;
    Ptr<QueueDiscItem> front = g_queue->Dequeue();
    if (!front)
    {
        return;
    }
    Ptr<Item> item = DynamicCast<Item>(front);
    std::printf("%u %.9f\n", item->flow, (Simulator::Now() - item->came).GetSeconds());
    g_busy = true;
    Simulator::Schedule(g_rate.CalculateBytesTxTime(item->GetSize()), &Send);
}

static void
Arrive()
{
    g_queue->Enqueue(Create<Item>(g_arrivals[g_next++]));
    if (!g_busy)
    {
        Send();
    }
    if (g_next < g_arrivals.size())
    {
        Simulator::Schedule(g_arrivals[g_next].at - Simulator::Now(), &Arrive);
    }
}

int
main(int argc, char* argv[])
{
    if (argc < 5)
    {
        std::fprintf(stderr, "usage: queues ARRIVALS DISCIPLINE RATE SEED [ATTRIBUTE=VALUE...]\n");
        return 2;
    }
    std::ifstream file(argv[1]);
    double seconds;
    Arrival arrival;
    while (file >> seconds >> arrival.flow >> arrival.bytes)
    {
        arrival.at = Seconds(seconds);
        g_arrivals.push_back(arrival);
    }
    g_rate = DataRate(argv[3]);
    RngSeedManager::SetSeed(std::stoul(argv[4]));
    ObjectFactory factory(argv[2]);
    for (int at = 5; at < argc; ++at)
    {
        std::string setting(argv[at]);
        size_t equals = setting.find('=');
        factory.Set(setting.substr(0, equals), StringValue(setting.substr(equals + 1)));
    }
    g_queue = factory.Create<QueueDisc>();
    if (Ptr<FqCoDelQueueDisc> fair = DynamicCast<FqCoDelQueueDisc>(g_queue))
    {
        // Not an attribute: it would take the largest packet of its device, and has none.
        fair->SetQuantum(1500);
    }
    g_queue->Initialize();
    if (g_arrivals.empty())
    {
        std::fprintf(stderr, "%s has no arrivals\n", argv[1]);
        return 1;
    }
    Simulator::Schedule(g_arrivals[0].at, &Arrive);
    // PIE computes its probability for ever.
    Simulator::Stop(g_arrivals.back().at + Seconds(60));
    Simulator::Run();
    g_queue->Dispose();
    Simulator::Destroy();
    return 0;
}
