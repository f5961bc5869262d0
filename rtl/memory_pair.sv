// A true dual-port block RAM: port 0 writes or reads, port 1 reads.
//
//   address_0 (write, write_data) --> words --> read_data_0    two reads, or a write and a read,
//   address_1                     -->       --> read_data_1    per cycle; latency 1
//
// `read_data_0` holds while port 0 writes. A read by port 1 of the address that port 0 writes gives
// either word. A word that was never written is unknown. One process for each port and no
// `initial`, because synthesis makes block RAM of that form only.
//
// Words lie in slices of SLICE bits. For example, 4,096 words of 36 bits in slices of 4 are nine
// block RAMs of 4,096 x 4: a slice as wide as a block RAM of its depth needs no multiplexer.
// Test: tests/rtl/test_memory.py.

`default_nettype none

module memory_pair #(
    parameter int WIDTH     = 36,
    parameter int DEPTH_LOG = 10,  // 2^DEPTH_LOG words.
    parameter int SLICE     = WIDTH
) (
    input  wire                  clk,

    input  wire                  write,
    input  wire [DEPTH_LOG-1:0]  address_0,
    input  wire [WIDTH-1:0]      write_data,
    output logic [WIDTH-1:0]     read_data_0,

    input  wire [DEPTH_LOG-1:0]  address_1,
    output logic [WIDTH-1:0]     read_data_1
);

    generate
        for (genvar low = 0; low < WIDTH; low = low + SLICE) begin : slice
            localparam int BITS = WIDTH - low < SLICE ? WIDTH - low : SLICE;
            (* no_rw_check, ram_style = "block" *) logic [BITS-1:0] words [0:2**DEPTH_LOG-1];

            always_ff @(posedge clk) begin
                if (write) words[address_0] <= write_data[low +: BITS];
                else       read_data_0[low +: BITS] <= words[address_0];
            end

            always_ff @(posedge clk) read_data_1[low +: BITS] <= words[address_1];
        end
    endgenerate

endmodule

`default_nettype wire
