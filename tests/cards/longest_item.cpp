/* SPDX-License-Identifier: Apache-2.0 */
/* A plug-in of Oclgrind: the instructions of each kernel's longest work-item, a line "kernel count"
 * for each launch, into the file that LONGEST_ITEM_FILE names. Compiled by longest_item.sh. */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include <oclgrind/KernelInvocation.h>
#include <oclgrind/Plugin.h>

/* Their own headers need LLVM's. */
namespace oclgrind {
class Context {
public:
    void registerPlugin(Plugin *plugin);
    void unregisterPlugin(Plugin *plugin);
};

class Kernel {
public:
    const std::string &getName() const;
};
}

namespace {

class LongestItem : public oclgrind::Plugin {
public:
    explicit LongestItem(const oclgrind::Context *context) : Plugin(context) {}

    void kernelBegin(const oclgrind::KernelInvocation *) override { longest = 0; }

    void workItemBegin(const oclgrind::WorkItem *item) override { counts[item] = 0; }

    void instructionExecuted(const oclgrind::WorkItem *item, const llvm::Instruction *,
                             const oclgrind::TypedValue &) override {
        ++counts[item];
    }

    void workItemComplete(const oclgrind::WorkItem *item) override {
        const std::uint64_t count = counts[item];
        longest = count > longest ? count : longest;
        counts.erase(item);
    }

    void kernelEnd(const oclgrind::KernelInvocation *invocation) override {
        const char *name = std::getenv("LONGEST_ITEM_FILE");
        std::FILE *file = name ? std::fopen(name, "a") : nullptr;
        if (!file) return;
        std::fprintf(file, "%s %llu\n", invocation->getKernel()->getName().c_str(),
                     static_cast<unsigned long long>(longest));
        std::fclose(file);
    }

    bool isThreadSafe() const override { return false; } /* Oclgrind takes one thread then */

private:
    std::map<const oclgrind::WorkItem *, std::uint64_t> counts;
    std::uint64_t longest = 0;
};

LongestItem *plugin;

} /* namespace */

extern "C" void initializePlugins(oclgrind::Context *context) {
    plugin = new LongestItem(context);
    context->registerPlugin(plugin);
}

extern "C" void releasePlugins(oclgrind::Context *context) {
    context->unregisterPlugin(plugin);
    delete plugin;
}
