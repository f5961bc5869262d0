// What `parts` offers stays until it is taken; its bytes are those that came, in order; and records name every byte once,
// not before it is there.

`default_nettype none

module parts_proof (
    input wire        clk,
    input wire        rst,
    input wire        byte_valid, byte_cut,
    input wire [7:0]  byte_data,
    input wire        record_valid, record_last,
    input wire [2:0]  record_kind,
    input wire [23:0] record_payload,
    input wire        part_byte_ready, part_ready
);

    wire        byte_ready, record_ready, idle;
    wire        part_byte_valid, part_valid, part_last;
    wire [7:0]  part_byte_data;
    wire [2:0]  part_kind;
    wire [23:0] part_payload;

    parts #(.PART_MAX(3)) dut (.*);

    stays #(.WIDTH(8)) bytes (
        .clk, .rst, .valid(part_byte_valid), .ready(part_byte_ready), .data(part_byte_data)
    );
    stays #(.WIDTH(28)) records (
        .clk, .rst, .valid(part_valid), .ready(part_ready), .data({part_kind, part_payload, part_last})
    );

    // Bytes that came and did not leave, one at most, and bytes that left or may leave and are not named by a record.
    logic [7:0]  held;
    logic        holds;
    logic [24:0] unnamed;
    wire         comes = byte_valid && byte_ready;
    wire         names = part_valid && part_ready && part_kind <= 1;

    always_ff @(posedge clk) begin
        // A record that has bytes has some.
        assume (record_payload != 0 || record_kind > 1);
        if (comes) held <= byte_data;
        holds   <= comes || holds && !(part_byte_valid && part_byte_ready);
        unnamed <= unnamed + 25'(comes) - (names ? 25'(part_payload) : 25'd0);
        if (rst) begin
            holds   <= 1'b0;
            unnamed <= '0;
        end else begin
            assert (holds == part_byte_valid);
            if (holds) assert (part_byte_data == held);
            if (names) assert (part_payload != 0 && 25'(part_payload) <= unnamed);
            if (names && part_kind == 0) assert (part_payload <= 3);
            if (idle) assert (unnamed == 0);
            // What holds at all times; induction needs to know.
            assert (unnamed == 25'(dut.count) + (part_valid && part_kind <= 1 ? 25'(part_payload) : 25'd0));
            if (part_valid && part_kind <= 1) assert (part_payload != 0 && part_payload <= (part_kind == 1 ? 64 : 3));
            if (dut.reads) assert (dut.payload != 0 && dut.one == (dut.payload == 1));
            if (dut.count != 0 || dut.raw) assert (dut.reads);
            assert (!dut.raw || dut.kind == 0);
            assert (dut.count < (dut.raw || dut.kind != 0 ? 64 : 3));
        end
        cover (!rst && names && part_kind == 1 && part_payload == 3);
    end

endmodule

`default_nettype wire
