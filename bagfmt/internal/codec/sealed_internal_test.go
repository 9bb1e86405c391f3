package codec

import (
	"bytes"
	"testing"

	"github.com/pierrec/lz4/v4"

	"github.com/gorosbag/gorosbag/rosbag"
)

// sealedAndPlain unpacks with and without another checksum of all of stored.
func sealedAndPlain(stored []byte, size int) (sealed, plain []byte, sealedErr, plainErr error) {
	var d Decompressor
	memory := bytes.Repeat([]byte{0xdb}, size) // of an earlier chunk
	sealed, sealedErr = d.UnpackSealed(rosbag.CompressionLZ4, stored, int64(size), memory)
	plain, plainErr = d.Unpack(rosbag.CompressionLZ4, stored, int64(size), nil)
	return sealed, plain, sealedErr, plainErr
}

// TestUnpackSealed: with data of many kinds the blocks are unpacked as the library does.
func TestUnpackSealed(t *testing.T) {
	t.Parallel()
	for i, want := range samples(300_000) {
		stored := packLZ4(t, nil, want)
		if out := make([]byte, len(want)); !unpackLZ4Blocks(stored, out) || !bytes.Equal(out, want) {
			t.Fatalf("sample %d of %d bytes is not unpacked", i, len(want))
		}
		if got, _, err, _ := sealedAndPlain(stored, len(want)); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("sample %d of %d bytes: %d bytes, %v", i, len(want), len(got), err)
		}
		for _, size := range []int{len(want) - 1, len(want) + 1} {
			if size < 0 {
				continue
			}
			if _, _, sealed, plain := sealedAndPlain(stored, size); sealed == nil || sealed.Error() != plain.Error() {
				t.Fatalf("sample %d of %d bytes as %d: %v, want %v", i, len(want), size, sealed, plain)
			}
		}
	}
}

// TestUnpackSealedOthers: frames of other shapes, and what follows a frame, are left to the library.
func TestUnpackSealedOthers(t *testing.T) {
	t.Parallel()
	text := bytes.Repeat([]byte("some text, and more of it. "), 10_000)
	for name, o := range map[string][]lz4.Option{
		"large blocks":    {lz4.BlockSizeOption(lz4.Block1Mb)},
		"block checksums": {lz4.BlockSizeOption(lz4.Block64Kb), lz4.BlockChecksumOption(true)},
		"no checksum":     {lz4.BlockSizeOption(lz4.Block64Kb), lz4.ChecksumOption(false)},
		"with its size":   {lz4.BlockSizeOption(lz4.Block64Kb), lz4.SizeOption(uint64(len(text)))},
	} {
		var b bytes.Buffer
		z := lz4.NewWriter(&b)
		if err := z.Apply(o...); err != nil {
			t.Fatal(err)
		}
		if _, err := z.Write(text); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		if unpackLZ4Blocks(b.Bytes(), make([]byte, len(text))) {
			t.Errorf("%s: not left to the library", name)
		}
		if got, _, err, _ := sealedAndPlain(b.Bytes(), len(text)); err != nil || !bytes.Equal(got, text) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
	twice := packLZ4(t, packLZ4(t, nil, text), text)
	if got, plain, sealedErr, plainErr := sealedAndPlain(twice, 2*len(text)); !bytes.Equal(got, plain) || (sealedErr == nil) != (plainErr == nil) {
		t.Errorf("two frames: %v, want %v", sealedErr, plainErr)
	}
}

// TestUnpackSealedDamage: damage ends in the error of the library, except in the checksum that is left out.
func TestUnpackSealedDamage(t *testing.T) {
	t.Parallel()
	want := append(bytes.Repeat([]byte("repeated "), 50), samples(100)[10]...)
	stored := packLZ4(t, nil, want)
	for at := range stored {
		for _, flip := range []byte{1, 0x10, 0x80, 0xff} {
			damaged := bytes.Clone(stored)
			damaged[at] ^= flip
			sealed, plain, sealedErr, plainErr := sealedAndPlain(damaged, len(want))
			switch {
			case at >= len(stored)-4:
				if sealedErr != nil || !bytes.Equal(sealed, want) || plainErr == nil {
					t.Errorf("the checksum at %d: %v, without sealing %v", at, sealedErr, plainErr)
				}
			case sealedErr == nil && len(sealed) != len(want):
				t.Errorf("byte %d: %d bytes", at, len(sealed))
			case sealedErr != nil && (plainErr == nil || sealedErr.Error() != plainErr.Error()):
				t.Errorf("byte %d: %v, want %v", at, sealedErr, plainErr)
			case plainErr == nil && !bytes.Equal(sealed, plain):
				t.Errorf("byte %d: other data than without sealing", at)
			}
		}
		if _, _, sealedErr, plainErr := sealedAndPlain(stored[:at], len(want)); sealedErr == nil || sealedErr.Error() != plainErr.Error() {
			t.Errorf("cut at %d: %v, want %v", at, sealedErr, plainErr)
		}
	}
}
