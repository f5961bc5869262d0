// The environment of `gather`: the words of each lane leave in order, all of them, within their
// batch, and every lane has its turn.
//
// A lane numbers its words and its batches: a word is {batch, number}, and both are counted where
// words leave.

`default_nettype none

module gather_proof
    import zeton_pkg::*;
#(
    localparam int LANES = 3
) (
    input wire             clk,
    input wire             rst,
    input wire [LANES-1:0] offers, marks,     // Free: a lane has a word, and it is a mark.
    input wire             out_ready
);

    wire                 idle, out_valid, out_last;
    wire  [31:0]         out_data;
    wire  [LANES-1:0]    word_ready;
    word_t [LANES-1:0]   word_data;

    // Lanes. An offered word stays.
    logic [LANES*2-1:0] number_in, batch_in;
    logic [LANES-1:0]   held_valid, held_mark;
    wire  [LANES-1:0]   word_valid = offers | held_valid;
    wire  [LANES-1:0]   is_mark    = held_valid & held_mark | ~held_valid & marks;
    wire  [LANES-1:0]   taken      = word_valid & word_ready & ~is_mark;

    always_comb begin
        for (int l = 0; l < LANES; l++) begin
            word_data[l] = is_mark[l] ? {1'b0, WORD_BATCH, 24'd0} : {24'd0, batch_in[l*2 +: 2], number_in[l*2 +: 2]};
        end
    end

    gather #(.LANES(LANES)) dut (.*);

    stays #(.WIDTH(33)) words (.clk, .rst, .valid(out_valid), .ready(out_ready), .data({out_last, out_data}));

    // The output: the numbers that are due now, and after each word that waits in the FIFO.
    logic [LANES*2-1:0] number_out, number_1, number_2;
    logic [1:0]         batch_out, batch_1, batch_2;
    logic               fits_1, fits_2;

    function automatic logic fits(input logic [32:0] word, input logic [LANES*2-1:0] number, input logic [1:0] batch);
        fits = word[32] ? word[31:24] == 8'h07 && word[1:0] == batch
             : word[31:28] < LANES && word[27:4] == 0 && word[3:0] == {batch, number[word[29:28]*2 +: 2]};
    endfunction

    always_comb begin
        number_1 = number_out;
        batch_1  = batch_out;
        fits_1   = fits(dut.joined.first, number_out, batch_out);
        if (dut.joined.count != 0) begin
            if (dut.joined.first[32]) batch_1 = batch_out + 1'b1;
            else number_1[dut.joined.first[29:28]*2 +: 2] = number_out[dut.joined.first[29:28]*2 +: 2] + 1'b1;
        end
        number_2 = number_1;
        batch_2  = batch_1;
        fits_2   = fits(dut.joined.second, number_1, batch_1);
        if (dut.joined.count == 2) begin
            if (dut.joined.second[32]) batch_2 = batch_1 + 1'b1;
            else number_2[dut.joined.second[29:28]*2 +: 2] = number_1[dut.joined.second[29:28]*2 +: 2] + 1'b1;
        end
    end

    // One lane at will, always the same: the words of others that it has waited for, and lanes that
    // come before it.
    wire  [LANES-1:0] granted_before = ~dut.above_last;
    logic [1:0] lane, ahead;
    logic [2:0] waited;
    always_comb begin
        ahead = lane;
        for (int l = 0; l < LANES; l++) begin
            if (granted_before[l]) ahead = ahead == 0 ? 2'(LANES - 1) : ahead - 1'b1;
        end
    end

    always_ff @(posedge clk) begin
        assume (lane < LANES);
        lane       <= lane;
        held_valid      <= word_valid & ~word_ready;
        held_mark <= is_mark;
        for (int l = 0; l < LANES; l++) begin
            if (taken[l]) number_in[l*2 +: 2] <= number_in[l*2 +: 2] + 1'b1;
            if (word_valid[l] && word_ready[l] && is_mark[l]) batch_in[l*2 +: 2] <= batch_in[l*2 +: 2] + 1'b1;
        end
        if (out_valid && out_ready) begin
            number_out <= number_1;
            batch_out  <= batch_1;
        end
        if (!word_valid[lane] || is_mark[lane] || dut.mark_seen[lane] || taken[lane]) waited <= '0;
        else if (taken != 0) waited <= waited + 1'b1;

        if (rst) begin
            held_valid      <= '0;
            number_in  <= '0;
            batch_in   <= '0;
            number_out <= '0;
            batch_out  <= '0;
            waited     <= '0;
        end else begin
            if (out_valid) assert (fits({out_last, out_data}, number_out, batch_out));
            assert ((taken & (taken - 1'b1)) == 0);
            assert (waited < LANES);
            // Invariants: the waiting words are the next ones, and no word is missing.
            if (dut.joined.count != 0) assert (fits_1);
            if (dut.joined.count == 2) assert (fits_2);
            assert (number_in == number_2);
            for (int l = 0; l < LANES; l++) assert (batch_in[l*2 +: 2] == batch_2 + 2'(dut.mark_seen[l]));
            assert (dut.batch_count[1:0] == batch_2);
            assert ((granted_before & LANES'(granted_before + 1'b1)) == 0);
            assert (waited + 3'(ahead) < LANES);
        end
        cover (!rst && batch_out == 2 && waited == LANES - 1);
    end

endmodule

`default_nettype wire
