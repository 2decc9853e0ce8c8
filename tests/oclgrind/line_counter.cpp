/* SPDX-License-Identifier: Apache-2.0 */
/* A plug-in of Oclgrind that counts a card's memory accesses for 32 work-items at once.
 *
 * An access is the n-th execution of one instruction by 32 neighbouring work-items. In global
 * memory an access costs one line for each 128 bytes that it touches. In local memory it costs one
 * turn for each word in the fullest of 32 banks of 4 bytes. Each cost is divided by the fewest
 * lines or turns for the same words: 1.0 is ideal, 32.0 the worst.
 *
 * When the context ends, the file of GANTRY_LINE_COUNTS gets a line for each kernel: its name, its
 * accesses to global memory, lines / fewest lines, its accesses to local memory, turns / fewest. */
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <oclgrind/Context.h>
#include <oclgrind/Kernel.h>
#include <oclgrind/KernelInvocation.h>
#include <oclgrind/Memory.h>
#include <oclgrind/Plugin.h>
#include <oclgrind/WorkGroup.h>
#include <oclgrind/WorkItem.h>

namespace {

constexpr size_t together = 32, line_words = 32, banks = 32, word_bytes = 4;

struct Counts {
    size_t global_accesses = 0, lines = 0, fewest_lines = 0;
    size_t local_accesses = 0, turns = 0, fewest_turns = 0;
};

/* Key within one work-group: the memory space, the items' number / 32, the instruction, the number
 * of earlier executions. */
using Place = std::tuple<unsigned, size_t, const void *, size_t>;

class LineCounter : public oclgrind::Plugin {
  public:
    explicit LineCounter(const oclgrind::Context *context) : Plugin(context) {}
    ~LineCounter() override { write(); }

    bool isThreadSafe() const override { return false; }

    using Plugin::memoryLoad; /* those of work-groups stay */
    using Plugin::memoryStore;

    void kernelBegin(const oclgrind::KernelInvocation *invocation) override {
        kernel = invocation->getKernel()->getName();
    }

    void memoryLoad(const oclgrind::Memory *memory, const oclgrind::WorkItem *item, size_t address,
                    size_t size) override {
        note(memory, item, address, size);
    }

    void memoryStore(const oclgrind::Memory *memory, const oclgrind::WorkItem *item,
                     size_t address, size_t size, const uint8_t *) override {
        note(memory, item, address, size);
    }

    void workGroupComplete(const oclgrind::WorkGroup *) override {
        for (const auto &access : accesses) {
            if (std::get<0>(access.first) == oclgrind::AddrSpaceLocal)
                count_local(access.second);
            else
                count_global(access.second);
        }
        accesses.clear();
        visits.clear();
    }

  private:
    void note(const oclgrind::Memory *memory, const oclgrind::WorkItem *item, size_t address,
              size_t size) {
        unsigned space = memory->getAddressSpace();
        if (space != oclgrind::AddrSpaceGlobal && space != oclgrind::AddrSpaceLocal) return;
        oclgrind::Size3 id = item->getLocalID(), group = item->getWorkGroup()->getGroupSize();
        size_t number = (id.z * group.y + id.y) * group.x + id.x;
        const void *instruction = item->getCurrentInstruction();
        size_t visit = visits[{number, instruction}]++;
        std::set<size_t> &words = accesses[{space, number / together, instruction, visit}];
        for (size_t at = address / word_bytes; at <= (address + size - 1) / word_bytes; ++at)
            words.insert(at);
    }

    void count_global(const std::set<size_t> &words) {
        std::set<size_t> lines;
        for (size_t word : words) lines.insert(word / line_words);
        Counts &of = counts[kernel];
        ++of.global_accesses;
        of.lines += lines.size();
        of.fewest_lines += (words.size() + line_words - 1) / line_words;
    }

    void count_local(const std::set<size_t> &words) {
        std::vector<size_t> in_bank(banks);
        size_t turns = 0;
        for (size_t word : words) turns = std::max(turns, ++in_bank[word % banks]);
        Counts &of = counts[kernel];
        ++of.local_accesses;
        of.turns += turns;
        of.fewest_turns += (words.size() + banks - 1) / banks;
    }

    void write() const {
        const char *name = std::getenv("GANTRY_LINE_COUNTS");
        std::FILE *file = name ? std::fopen(name, "a") : nullptr;
        if (!file) return;
        for (const auto &row : counts) {
            const Counts &of = row.second;
            std::fprintf(file, "%s %zu %.2f %zu %.2f\n", row.first.c_str(), of.global_accesses,
                         ratio(of.lines, of.fewest_lines), of.local_accesses,
                         ratio(of.turns, of.fewest_turns));
        }
        std::fclose(file);
    }

    static double ratio(size_t all, size_t fewest) {
        return fewest > 0 ? double(all) / double(fewest) : 0;
    }

    std::string kernel;
    std::map<std::string, Counts> counts;
    std::map<Place, std::set<size_t>> accesses;               /* words, of this work-group */
    std::map<std::pair<size_t, const void *>, size_t> visits; /* of an item at an instruction */
};

LineCounter *counter;

} // namespace

extern "C" __attribute__((visibility("default"))) void initializePlugins(oclgrind::Context *context) {
    counter = new LineCounter(context);
    context->registerPlugin(counter);
}

extern "C" __attribute__((visibility("default"))) void releasePlugins(oclgrind::Context *context) {
    context->unregisterPlugin(counter);
    delete counter;
    counter = nullptr;
}
