// A UART receiver: bytes of 8 bits, lowest first, one stop bit, no parity.
//
//   line  -->  data, valid for one cycle      a byte in ten bits of BIT_CYCLES each
//
// For example, the byte 41 is the line 0 10000010 1: start bit, eight bits, stop bit. There is no
// backpressure: the user takes a byte in its cycle. A byte without its stop bit is dropped. A line
// that stays low for the time of two bytes is a break, the host's reset of the link. Test:
// tests/rtl/test_board.py.

`default_nettype none

module uart_receive #(
    parameter int BIT_CYCLES = 25   // At least 4.
) (
    input  wire        clk,
    input  wire        rst,

    input  wire        line,
    output logic       valid,
    output logic [7:0] data,
    output logic       is_break    // High during a break.
);

    localparam int BREAK_CYCLES = 20 * BIT_CYCLES;
    localparam int LOW_BITS     = $clog2(BREAK_CYCLES + 1);
    localparam int WAIT_BITS    = $clog2(BIT_CYCLES + 1);

    // A synchronizer, because the line has a clock of its own.
    logic [2:0] synchronizer;
    wire        bit_now = synchronizer[2];

    always_ff @(posedge clk) begin
        synchronizer <= {synchronizer[1:0], line};
        if (rst) synchronizer <= '1;
    end

    // Bits are sampled in their middle: the start bit, eight bits, the stop bit.
    logic                 busy;
    logic [WAIT_BITS-1:0] cycles_left;  // Cycles to the next sample.
    logic [3:0]           bit_index;

    always_ff @(posedge clk) begin
        valid <= 1'b0;
        if (!busy) begin
            busy        <= !bit_now;
            cycles_left <= WAIT_BITS'(BIT_CYCLES / 2 - 1);
            bit_index   <= '0;
        end else if (cycles_left != '0) begin
            cycles_left <= cycles_left - 1'b1;
        end else begin
            cycles_left <= WAIT_BITS'(BIT_CYCLES - 1);
            bit_index   <= bit_index + 4'd1;
            if (bit_index == 4'd0 && bit_now) busy <= 1'b0;          // A glitch.
            if (bit_index == 4'd9) begin
                busy  <= 1'b0;
                valid <= bit_now;
            end else begin
                data <= {bit_now, data[7:1]};
            end
        end
        if (rst || is_break) begin
            busy  <= 1'b0;
            valid <= 1'b0;
        end
    end

    logic [LOW_BITS-1:0] low_cycles;  // Cycles since the line fell.

    always_ff @(posedge clk) begin
        if (bit_now)        low_cycles <= '0;
        else if (!is_break) low_cycles <= low_cycles + 1'b1;
        if (rst) low_cycles <= '0;
    end

    assign is_break = low_cycles == LOW_BITS'(BREAK_CYCLES);

endmodule

`default_nettype wire
