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
                if (text_valid[l] && text_ready[l]) in_text <= text_keep[l] && !text_last[l] || in_text && !text_last[l];
                if (rst) in_text <= 1'b0;
                else if (text_valid[l] && text_mark[l]) assert (!in_text && !text_keep[l] && !text_last[l]);
                cover (!rst && text_valid[l] && text_mark[l] && bad);
            end
        end
    endgenerate

endmodule

`default_nettype wire
