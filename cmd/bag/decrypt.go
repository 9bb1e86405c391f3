package main

import (
	"context"

	"github.com/gorosbag/gorosbag/cmd/bag/internal/job"
	"github.com/gorosbag/gorosbag/cmd/bag/internal/replace"
	"github.com/gorosbag/gorosbag/rosbag"
)

type decryptFlags struct {
	repackFlags
	BZ2 bool `short:"j" name:"bz2" help:"Compress with bz2."`
	LZ4 bool `name:"lz4" help:"Compress with lz4. Default: as the bag."`
}

// Help is the long help.
func (decryptFlags) Help() string {
	return `Decrypts bags that rosbag encrypt made (rosbag/AesCbcEncryptor), with the GPG key for which
they are encrypted: the program gpg must be installed, and its keyring must have the
secret key. gpg-agent knows the passphrase or asks for it; if nobody can be asked, set
the variable ROSBAG_GPG_PASSPHRASE, as for rosbag.

` + repackHelp + `

With the key, the commands that only read bags read encrypted ones, and goplay plays
them; note, reindex and compress in place refuse them. What is written is never
encrypted. Of a bag that was not closed, cut or damaged, what can be read is kept; exit
code 3 says that messages were lost.`
}

// Run decrypts bags.
func (f *decryptFlags) Run(ctx context.Context, out job.Output) error {
	p := replace.Packing{Decrypt: true}
	switch {
	case f.LZ4 && f.BZ2:
		return errBothKinds
	case f.LZ4:
		p.Compression = rosbag.CompressionLZ4
	case f.BZ2:
		p.Compression = rosbag.CompressionBZ2
	}
	return f.repack(ctx, out, p)
}
