// A UART transmitter: bytes of 8 bits, lowest first, one stop bit, no parity.
//
//   data  -->  line      a byte in ten bits of BIT_CYCLES each
//
// For example, the byte 41 is the line 0 10000010 1. Test: tests/rtl/test_board.py.

`default_nettype none

module uart_send #(
    parameter int BIT_CYCLES = 25
) (
    input  wire        clk,
    input  wire        rst,

    input  wire        valid,
    output wire        ready,
    input  wire  [7:0] data,
    output logic       line
);

    localparam int WAIT_BITS = $clog2(BIT_CYCLES + 1);

    logic [9:0]           bits;         // The stop bit is highest; ones follow it.
    logic [3:0]           bits_left;    // Bits to come, this one included.
    logic [WAIT_BITS-1:0] cycles_left;  // Cycles of this bit to come.

    assign ready = bits_left == '0;

    always_ff @(posedge clk) begin
        if (ready) begin
            bits        <= {1'b1, data, 1'b0};
            bits_left   <= valid ? 4'd10 : 4'd0;
            cycles_left <= WAIT_BITS'(BIT_CYCLES - 1);
        end else if (cycles_left != '0) begin
            cycles_left <= cycles_left - 1'b1;
        end else begin
            bits        <= {1'b1, bits[9:1]};
            bits_left   <= bits_left - 4'd1;
            cycles_left <= WAIT_BITS'(BIT_CYCLES - 1);
        end
        line <= ready || bits[0];
        if (rst) begin
            bits_left <= '0;
            line      <= 1'b1;
        end
    end

endmodule

`default_nettype wire
