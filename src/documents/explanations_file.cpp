#include "explanations.hpp"

namespace fheres::documents {
namespace {

constexpr Explanation kFiles[] = {
    {"FHR0001",
     "The document, or a file that it names, is not there, is a folder or no regular file, or may not be "
     "read. Paths "
     "inside a document are relative to the folder of that document, not to where the command runs.",
     "", "Look at the path that the message names, and at the rights of the file."},
    {"FHR0002",
     "Documents are read whole, so their size is bounded: 16 MiB of text, and a million scalars, lists and "
     "maps. No "
     "document that a person or a program writes for fheres comes near; a file that does is something else.",
     "", "Check that the path names the document. Many similar values or stages are one entry with a `for`."},
    {"FHR0003",
     "Lists and maps may be nested 64 levels deep. Documents need fewer than ten; deeper ones only exist to "
     "exhaust a "
     "reader's stack.",
     "metadata:\n  name: x\n  description:\n    "
     "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\n    "
     "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]\n",
     "Look for a bracket that is opened again and again."},
    {"FHR0004",
     "An alias (`*name`) stands for everything below its anchor (`&name`), so a few lines of aliases of "
     "aliases can stand "
     "for billions of nodes. What all aliases of a file stand for is bounded at 100,000 nodes, and none may "
     "stand inside "
     "its own anchor.",
     "values:\n  w: &w [*w]\n", "Write out what is repeated, or use one entry with a `for`."},
    {"FHR0005",
     "The text is not YAML 1.2, or not UTF-8. The place is where the parser gave up, which can be after the "
     "mistake: a "
     "quote or bracket that is never closed is noticed at the end.",
     "values:\n  w: {bytes: 1 MiB, at: pinned-host\n",
     "Close what is open. Inside { } and [ ] a text with a comma, a brace or ${...} needs quotes: "
     "`[\"x${t}\"]`."},
    {"FHR0006",
     "A file holds exactly one document. Several documents in one file (between lines of `---`) would leave "
     "open which "
     "one a command is about.",
     "---\napiVersion: fheres/v1\n---\napiVersion: fheres/v1\n", "Put each document into a file of its own."},
    {"FHR0007",
     "All problems of a document are reported in one run, but no more than a thousand of them: this line "
     "says how many "
     "are left out. Usually they have few causes.",
     "", "Correct the first ones and run `fheres validate` again."},
};

}  // namespace

std::span<const Explanation> file_explanations() { return kFiles; }

}  // namespace fheres::documents
