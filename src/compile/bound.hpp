#pragma once

#include <cstdint>
#include <vector>

#include "problem.hpp"

namespace fheres::compile {

/// What the lower bound asks for: rows are the stages of each room in which not everything that could be kept can be.
/// For any prices y >= 0 of room in each row,
///     compulsory + sum_r y_r short_r + sum over lanes of min over what goes (its costs - the room that it gives back, priced)
/// is at most what the best plan moves (Lagrange's relaxation of the rows). So prices may come from anywhere: a solver in
/// floating point, or steps without one; the bound itself is added up in integers.
class Bound {
 public:
  struct Row {
    std::size_t room = 0;
    std::size_t stage = 0;
    /// Of what could be kept, so many bytes have to go; rounded up to a sum of what there is to go.
    std::int64_t missing = 0;
  };
  /// An interval that some row asks about, with the rows that it spans: [first_row, last_row].
  struct Column {
    std::size_t interval = 0;
    std::size_t lane = 0;
    std::size_t first_row = 0, last_row = 0;
    std::int64_t charge = 0;
    std::int64_t cost = 0;
  };
  enum class Fixed : std::uint8_t { open, kept, gone };

  /// Prices are in units of 1 / kOne bytes moved for a byte of room.
  static constexpr std::int64_t kOne = std::int64_t{1} << 30;

  explicit Bound(const Problem& problem);

  const std::vector<Row>& rows() const { return rows_; }
  /// By lane, in time.
  const std::vector<Column>& columns() const { return columns_; }
  std::int64_t offload(std::size_t lane) const { return offload_[lane]; }

  /// The bound at these prices (by row), rounded up to what a plan can move. `fixed`, by column, holds decisions of a
  /// branch; empty: none.
  Bytes at(const std::vector<std::int64_t>& prices, const std::vector<Fixed>& fixed = {}) const;

 private:
  void round_up();

  const Problem& problem_;
  std::vector<Row> rows_;
  std::vector<Column> columns_;
  std::vector<std::int64_t> offload_;  // by lane
};

}  // namespace fheres::compile
