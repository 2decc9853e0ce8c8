/* SPDX-License-Identifier: Apache-2.0 */
/* A plug-in of Oclgrind that counts the instructions of each launch's longest work-item. The
 * plug-in writes a line "kernel count" for each launch to the file that LONGEST_ITEM_FILE names.
 * longest_item.sh compiles this file. */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include <oclgrind/KernelInvocation.h>
#include <oclgrind/Plugin.h>

/* Oclgrind's own headers need LLVM's headers. */
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

    bool isThreadSafe() const override { return false; } /* makes Oclgrind use one thread */

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
