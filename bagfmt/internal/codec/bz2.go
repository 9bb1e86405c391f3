package codec

import (
	"io"

	"github.com/dsnet/compress/bzip2"
)

// bz2Packer packs bz2 streams with blocks of 900 kB.
type bz2Packer struct {
	z   *bzip2.Writer
	out appender
}

func newBZ2Packer() *bz2Packer {
	z, err := bzip2.NewWriter(io.Discard, &bzip2.WriterConfig{Level: bzip2.BestCompression})
	if err != nil {
		panic(err) // the level is a constant
	}
	return &bz2Packer{z: z}
}

// append adds src to dst as one stream: stock's C++ reader stops at the end of the first one.
func (p *bz2Packer) append(dst, src []byte) []byte {
	p.out.b = dst
	err := p.z.Reset(&p.out)
	if err == nil {
		_, err = p.z.Write(src)
	}
	if closed := p.z.Close(); err == nil {
		err = closed
	}
	if err != nil {
		panic(err) // memory takes everything
	}
	dst, p.out.b = p.out.b, nil
	return dst
}
