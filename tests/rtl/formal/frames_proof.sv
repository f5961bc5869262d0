// What `frames` offers to each lane stays until it is taken, whatever the packets hold.

`default_nettype none

module frames_proof (
    input wire        clk,
    input wire        rst,
    input wire        in_valid, in_last,
    input wire [63:0] in_data,
    input wire [1:0]  text_ready
);

    wire        in_ready, idle, bad;
    wire [1:0]  text_valid, text_keep, text_last, text_mark;
    wire [15:0] text_byte;

    frames #(.LANES(2), .DEPTH_LOG(2)) dut (.*);

    generate
        for (genvar l = 0; l < 2; l++) begin : lanes
            stays #(.WIDTH(11)) items (
                .clk, .rst, .valid(text_valid[l]), .ready(text_ready[l]),
                .data({text_byte[l*8 +: 8], text_keep[l], text_last[l], text_mark[l]})
            );

            // A mark comes between texts, and has no byte.
            logic in_text;
            always_ff @(posedge clk) begin
                if (text_valid[l] && text_ready[l]) in_text <= (text_keep[l] || in_text) && !text_last[l];
                if (rst) in_text <= 1'b0;
                else if (text_valid[l] && text_mark[l]) assert (!in_text && !text_keep[l] && !text_last[l]);
                cover (!rst && text_valid[l] && text_mark[l] && bad);
            end

            // What holds at all times; induction needs to know. An item is {mark, last, bytes, the bytes}.
            wire [1:0]  waiting = dut.queue[l].items.count;
            wire [69:0] item_1  = dut.queue[l].items.first;
            wire [69:0] item_2  = dut.queue[l].items.second;
            wire [2:0]  at      = dut.queue[l].at;
            wire        after_1 = waiting == 0 ? in_text : (item_1[67:64] != 0 || in_text) && !item_1[68];
            wire        after_2 = waiting != 2 ? after_1 : (item_2[67:64] != 0 || after_1) && !item_2[68];
            always_ff @(posedge clk) if (!rst) begin
                if (waiting != 0) assert (item_1[67:64] <= 8 && (!item_1[69] || !in_text && item_1[68:64] == 0));
                if (waiting == 2) assert (item_2[67:64] <= 8 && (!item_2[69] || !after_1 && item_2[68:64] == 0));
                if (at != 0) assert (waiting != 0 && 4'(at) < item_1[67:64] && in_text);
                if (after_2) assert (dut.open[l]);
            end
        end
    endgenerate

    // What is told of a word is true of it: {fits, empty, last, data}.
    function automatic logic told(input [66:0] word);
        told = word[65] == (word[15:0] == 0) && (!word[66] || word[31:24] < 2);
    endfunction
    always_ff @(posedge clk) if (!rst) begin
        if (dut.words.out_valid) assert (told(dut.words.out_data));
        if (dut.words.waits)     assert (told(dut.words.side));
    end

    logic past_valid;
    initial past_valid = 1'b0;
    always_ff @(posedge clk) begin
        past_valid <= 1'b1;
        if (past_valid && !rst) begin
            assert (dut.state <= 5);
            if (dut.state == dut.BODY || dut.state == dut.EMPTY) assert ((dut.open & dut.lane) != 0 && dut.lane != 3);
            if (dut.state == dut.BODY) assert (dut.left != 0 && dut.body_ends == (dut.left <= 8));
            if (dut.state == dut.MARK) assert (dut.open == 0);
        end
    end

endmodule

`default_nettype wire
