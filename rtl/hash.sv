// The linear hash functions of all tables: bit i of function h is the parity of its input and row(h, i).
//
// Constants at elaboration, no logic of their own. `python/zeton/accel` computes the same rows.
// Functions 0 to 3 are the banks of `pairs`, 8 and 9 are those of `bridges`.

`default_nettype none

package hash;

    // A row of pseudo-random bits; users take as many low bits as their input has.
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
