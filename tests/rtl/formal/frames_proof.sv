// The environment of `frames`: offers to each lane stay until taken, and marks are between texts,
// for any packets.

`default_nettype none

module frames_proof
    import zeton_pkg::*;
(
    input wire        clk,
    input wire        rst,
    input wire        in_valid, in_last,
    input wire [63:0] in_data,
    input wire [1:0]  text_ready
);

    wire       in_ready, idle, bad_frame;
    wire [1:0] text_valid;
    wire text_t [1:0] text_data;

    frames #(.LANES(2), .DEPTH_LOG(2)) dut (.*);

    generate
        for (genvar l = 0; l < 2; l++) begin : lanes
            stays #(.WIDTH(11)) items (
                .clk, .rst, .valid(text_valid[l]), .ready(text_ready[l]),
                .data(text_data[l])
            );

            // A mark comes between texts, and has no byte.
            logic in_text;
            always_ff @(posedge clk) begin
                if (text_valid[l] && text_ready[l]) in_text <= (text_data[l].keep || in_text) && !text_data[l].last;
                if (rst) in_text <= 1'b0;
                else if (text_valid[l] && text_data[l].mark) assert (!in_text && !text_data[l].keep && !text_data[l].last);
                cover (!rst && text_valid[l] && text_data[l].mark && bad_frame);
            end

            // Invariants that induction needs. An item is {mark, last, count, bytes}.
            wire [1:0]  occupancy = dut.queue[l].items.count;
            wire [69:0] item_1  = dut.queue[l].items.first;
            wire [69:0] item_2  = dut.queue[l].items.second;
            wire [2:0]  at      = dut.queue[l].byte_index;
            wire        after_1 = occupancy == 0 ? in_text : (item_1[67:64] != 0 || in_text) && !item_1[68];
            wire        after_2 = occupancy != 2 ? after_1 : (item_2[67:64] != 0 || after_1) && !item_2[68];
            always_ff @(posedge clk) if (!rst) begin
                if (occupancy != 0) assert (item_1[67:64] <= 8 && (!item_1[69] || !in_text && item_1[68:64] == 0));
                if (occupancy == 2) assert (item_2[67:64] <= 8 && (!item_2[69] || !after_1 && item_2[68:64] == 0));
                if (at != 0) assert (occupancy != 0 && 4'(at) < item_1[67:64] && in_text);
                if (after_2) assert (dut.open_lanes[l]);
            end
        end
    endgenerate

    // The header check of a word in the skid is right: {is_header, is_empty, last, data}.
    function automatic logic checked(input [66:0] word);
        checked = word[65] == (word[15:0] == 0) && (!word[66] || word[31:24] < 2);
    endfunction
    always_ff @(posedge clk) if (!rst) begin
        if (dut.word_skid.out_valid) assert (checked(dut.word_skid.out_data));
        if (dut.word_skid.side_valid)     assert (checked(dut.word_skid.side_data));
    end

    logic past_valid;
    initial past_valid = 1'b0;
    always_ff @(posedge clk) begin
        past_valid <= 1'b1;
        if (past_valid && !rst) begin
            assert (dut.state <= FRAME_MARK);
            if (dut.state == FRAME_BODY || dut.state == FRAME_EMPTY) assert ((dut.open_lanes & dut.lane) != 0 && dut.lane != 3);
            if (dut.state == FRAME_BODY) assert (dut.bytes_left != 0 && dut.body_ends == (dut.bytes_left <= 8));
            if (dut.state == FRAME_MARK) assert (dut.open_lanes == 0);
        end
    end

endmodule

`default_nettype wire
