// The block RAM DP16KD of the ECP5: 18 kb in 2,048 bytes of nine bits, with two ports.
//
//   width           |  1  |  2  |  4  |  9  |    18    |     36
//   lowest address  | AD0 | AD1 | AD2 | AD3 |   AD4    |    AD5
//   byte enables    |  -  |  -  |  -  |  -  | AD1, AD0 | AD3 to AD0
//
// Widths 1 to 4 cannot reach the ninth bits. At width 36 port A writes {DIB, DIA} and port B reads
// {DOB, DOA}. For example, a bank of 2,048 pairs has width 9: each block RAM holds nine bits of
// every entry. The model has the modes that synthesis of this design uses: rising clocks, no output
// register, no chip select, no reset, no initial content. Any other mode is an error.

`default_nettype none

module DP16KD #(
    parameter DATA_WIDTH_A = 18,
    parameter DATA_WIDTH_B = 18,
    parameter REGMODE_A = "NOREG",
    parameter REGMODE_B = "NOREG",
    parameter RESETMODE = "SYNC",
    parameter ASYNC_RESET_RELEASE = "SYNC",
    parameter WRITEMODE_A = "NORMAL",
    parameter WRITEMODE_B = "NORMAL",
    parameter CSDECODE_A = "0b000",
    parameter CSDECODE_B = "0b000",
    parameter CLKAMUX = "CLKA",
    parameter CLKBMUX = "CLKB",
    parameter GSR = "ENABLED",
    parameter [319:0] INITVAL_00 = 320'd0,
    parameter [319:0] INITVAL_01 = 320'd0,
    parameter [319:0] INITVAL_02 = 320'd0,
    parameter [319:0] INITVAL_03 = 320'd0,
    parameter [319:0] INITVAL_04 = 320'd0,
    parameter [319:0] INITVAL_05 = 320'd0,
    parameter [319:0] INITVAL_06 = 320'd0,
    parameter [319:0] INITVAL_07 = 320'd0,
    parameter [319:0] INITVAL_08 = 320'd0,
    parameter [319:0] INITVAL_09 = 320'd0,
    parameter [319:0] INITVAL_0A = 320'd0,
    parameter [319:0] INITVAL_0B = 320'd0,
    parameter [319:0] INITVAL_0C = 320'd0,
    parameter [319:0] INITVAL_0D = 320'd0,
    parameter [319:0] INITVAL_0E = 320'd0,
    parameter [319:0] INITVAL_0F = 320'd0,
    parameter [319:0] INITVAL_10 = 320'd0,
    parameter [319:0] INITVAL_11 = 320'd0,
    parameter [319:0] INITVAL_12 = 320'd0,
    parameter [319:0] INITVAL_13 = 320'd0,
    parameter [319:0] INITVAL_14 = 320'd0,
    parameter [319:0] INITVAL_15 = 320'd0,
    parameter [319:0] INITVAL_16 = 320'd0,
    parameter [319:0] INITVAL_17 = 320'd0,
    parameter [319:0] INITVAL_18 = 320'd0,
    parameter [319:0] INITVAL_19 = 320'd0,
    parameter [319:0] INITVAL_1A = 320'd0,
    parameter [319:0] INITVAL_1B = 320'd0,
    parameter [319:0] INITVAL_1C = 320'd0,
    parameter [319:0] INITVAL_1D = 320'd0,
    parameter [319:0] INITVAL_1E = 320'd0,
    parameter [319:0] INITVAL_1F = 320'd0,
    parameter [319:0] INITVAL_20 = 320'd0,
    parameter [319:0] INITVAL_21 = 320'd0,
    parameter [319:0] INITVAL_22 = 320'd0,
    parameter [319:0] INITVAL_23 = 320'd0,
    parameter [319:0] INITVAL_24 = 320'd0,
    parameter [319:0] INITVAL_25 = 320'd0,
    parameter [319:0] INITVAL_26 = 320'd0,
    parameter [319:0] INITVAL_27 = 320'd0,
    parameter [319:0] INITVAL_28 = 320'd0,
    parameter [319:0] INITVAL_29 = 320'd0,
    parameter [319:0] INITVAL_2A = 320'd0,
    parameter [319:0] INITVAL_2B = 320'd0,
    parameter [319:0] INITVAL_2C = 320'd0,
    parameter [319:0] INITVAL_2D = 320'd0,
    parameter [319:0] INITVAL_2E = 320'd0,
    parameter [319:0] INITVAL_2F = 320'd0,
    parameter [319:0] INITVAL_30 = 320'd0,
    parameter [319:0] INITVAL_31 = 320'd0,
    parameter [319:0] INITVAL_32 = 320'd0,
    parameter [319:0] INITVAL_33 = 320'd0,
    parameter [319:0] INITVAL_34 = 320'd0,
    parameter [319:0] INITVAL_35 = 320'd0,
    parameter [319:0] INITVAL_36 = 320'd0,
    parameter [319:0] INITVAL_37 = 320'd0,
    parameter [319:0] INITVAL_38 = 320'd0,
    parameter [319:0] INITVAL_39 = 320'd0,
    parameter [319:0] INITVAL_3A = 320'd0,
    parameter [319:0] INITVAL_3B = 320'd0,
    parameter [319:0] INITVAL_3C = 320'd0,
    parameter [319:0] INITVAL_3D = 320'd0,
    parameter [319:0] INITVAL_3E = 320'd0,
    parameter [319:0] INITVAL_3F = 320'd0
) (
    input  wire DIA0, DIA1, DIA2, DIA3, DIA4, DIA5, DIA6, DIA7, DIA8,
    input  wire DIA9, DIA10, DIA11, DIA12, DIA13, DIA14, DIA15, DIA16, DIA17,
    input  wire ADA0, ADA1, ADA2, ADA3, ADA4, ADA5, ADA6, ADA7, ADA8,
    input  wire ADA9, ADA10, ADA11, ADA12, ADA13,
    input  wire CEA, OCEA, CLKA, WEA, RSTA, CSA0, CSA1, CSA2,
    input  wire DIB0, DIB1, DIB2, DIB3, DIB4, DIB5, DIB6, DIB7, DIB8,
    input  wire DIB9, DIB10, DIB11, DIB12, DIB13, DIB14, DIB15, DIB16, DIB17,
    input  wire ADB0, ADB1, ADB2, ADB3, ADB4, ADB5, ADB6, ADB7, ADB8,
    input  wire ADB9, ADB10, ADB11, ADB12, ADB13,
    input  wire CEB, OCEB, CLKB, WEB, RSTB, CSB0, CSB1, CSB2,
    output wire DOA0, DOA1, DOA2, DOA3, DOA4, DOA5, DOA6, DOA7, DOA8,
    output wire DOA9, DOA10, DOA11, DOA12, DOA13, DOA14, DOA15, DOA16, DOA17,
    output wire DOB0, DOB1, DOB2, DOB3, DOB4, DOB5, DOB6, DOB7, DOB8,
    output wire DOB9, DOB10, DOB11, DOB12, DOB13, DOB14, DOB15, DOB16, DOB17
);

    generate
        if (REGMODE_A != "NOREG" || REGMODE_B != "NOREG" || CSDECODE_A != "0b000" || CSDECODE_B != "0b000"
            || CLKAMUX != "CLKA" || CLKBMUX != "CLKB" || (DATA_WIDTH_A == 36) != (DATA_WIDTH_B == 36)) begin : refused
            $error("DP16KD: a mode that is not modelled");
        end
    endgenerate

    wire [13:0] address_a = {ADA13, ADA12, ADA11, ADA10, ADA9, ADA8, ADA7, ADA6, ADA5, ADA4, ADA3, ADA2, ADA1, ADA0};
    wire [13:0] address_b = {ADB13, ADB12, ADB11, ADB10, ADB9, ADB8, ADB7, ADB6, ADB5, ADB4, ADB3, ADB2, ADB1, ADB0};
    wire [17:0] in_a = {DIA17, DIA16, DIA15, DIA14, DIA13, DIA12, DIA11, DIA10, DIA9, DIA8, DIA7, DIA6, DIA5, DIA4, DIA3, DIA2, DIA1, DIA0};
    wire [17:0] in_b = {DIB17, DIB16, DIB15, DIB14, DIB13, DIB12, DIB11, DIB10, DIB9, DIB8, DIB7, DIB6, DIB5, DIB4, DIB3, DIB2, DIB1, DIB0};
    logic [35:0] out_a, out_b;

    assign {DOA17, DOA16, DOA15, DOA14, DOA13, DOA12, DOA11, DOA10, DOA9, DOA8, DOA7, DOA6, DOA5, DOA4, DOA3, DOA2, DOA1, DOA0} = DATA_WIDTH_A == 36 ? out_b[17:0] : out_a[17:0];
    assign {DOB17, DOB16, DOB15, DOB14, DOB13, DOB12, DOB11, DOB10, DOB9, DOB8, DOB7, DOB6, DOB5, DOB4, DOB3, DOB2, DOB1, DOB0} = DATA_WIDTH_B == 36 ? out_b[35:18] : out_b[17:0];

    logic [8:0] bytes [0:2047];

    // A port's word.
    function automatic [35:0] word_at(input int width, input [13:0] address);
        logic [8:0] one;
        one = bytes[address[13:3]];
        case (width)
            36:      word_at = {bytes[{address[13:5], 2'd3}], bytes[{address[13:5], 2'd2}],
                                bytes[{address[13:5], 2'd1}], bytes[{address[13:5], 2'd0}]};
            18:      word_at = {18'd0, bytes[{address[13:4], 1'b1}], bytes[{address[13:4], 1'b0}]};
            9:       word_at = {27'd0, one};
            4:       word_at = {32'd0, one[{address[2], 2'd0} +: 4]};
            2:       word_at = {34'd0, one[{address[2:1], 1'b0} +: 2]};
            default: word_at = {35'd0, one[address[2:0]]};
        endcase
    endfunction

    always_ff @(posedge CLKA) if (CEA) begin
        if (!WEA || WRITEMODE_A == "READBEFOREWRITE") out_a <= word_at(DATA_WIDTH_A, address_a);
        if (WEA) begin
            case (DATA_WIDTH_A)
                36: begin
                    if (ADA0) bytes[{address_a[13:5], 2'd0}] <= in_a[8:0];
                    if (ADA1) bytes[{address_a[13:5], 2'd1}] <= in_a[17:9];
                    if (ADA2) bytes[{address_a[13:5], 2'd2}] <= in_b[8:0];
                    if (ADA3) bytes[{address_a[13:5], 2'd3}] <= in_b[17:9];
                end
                18: begin
                    if (ADA0) bytes[{address_a[13:4], 1'b0}] <= in_a[8:0];
                    if (ADA1) bytes[{address_a[13:4], 1'b1}] <= in_a[17:9];
                end
                9:       bytes[address_a[13:3]] <= in_a[8:0];
                4:       bytes[address_a[13:3]][{address_a[2], 2'd0} +: 4] <= in_a[3:0];
                2:       bytes[address_a[13:3]][{address_a[2:1], 1'b0} +: 2] <= in_a[1:0];
                default: bytes[address_a[13:3]][address_a[2:0]] <= in_a[0];
            endcase
        end
    end

    // Port B of this design only reads.
    always_ff @(posedge CLKB) if (CEB) out_b <= word_at(DATA_WIDTH_B, address_b);

    always_ff @(posedge CLKB) begin
        if (CEB && WEB && DATA_WIDTH_B != 36) $error("DP16KD: port B writes, which is not modelled");
    end

endmodule

`default_nettype wire
