// The hash functions of all tables, linear over bits: bit i of H_h(x) is the parity of x & row(h,
// i).
//
// Functions 0 to 3 are the banks of `pairs`; 8 and 9 are those of `bridges`. For example, row(0, 0)
// is 64F0EEB9026E6076. Rows are constants at elaboration, without logic of their own.
// Specification: python/zeton/accel/tables/hashes.py computes the same rows, and
// tests/rtl/test_pairs.py compares them, because Python builds the tables that the RTL reads.

`default_nettype none

package hash;

    // A row of pseudo-random bits (xorshift). A table uses as many low bits as its input has.
    function automatic logic [63:0] row(input int h, input int i);
        logic [63:0] x;
        x = 64'h9E3779B97F4A7C15 * (64'(h) * 64'd256 + 64'(i) + 64'd1);
        for (int round = 0; round < 2; round++) begin
            x = x ^ (x << 13);
            x = x ^ (x >> 7);
            x = x ^ (x << 17);
        end
        row = x;
    endfunction

endpackage

`default_nettype wire
