package main

import (
	"testing"

	"go.uber.org/zap"
)

// TestPages compares the help, the manual page and the printed configuration.
func TestPages(t *testing.T) {
	t.Parallel()
	described.CheckPages(t,
		"-a --print-config", "/a /b --print-config --split --http=:0 --http-token=0123456789abcdef0123 --snapshot-beside --embedded-master",
		"--config testdata/all.yaml --print-config",
	)
}

// TestAbbreviations compares what each abbreviation of each option means.
func TestAbbreviations(t *testing.T) {
	t.Parallel()
	described.CheckAbbreviations(t)
}

// TestMeanings compares what options set in the options of the recorder.
func TestMeanings(t *testing.T) {
	t.Parallel()
	described.CheckMeanings(t, func(args []string) (any, error) {
		s, err := parse(args)
		if err != nil {
			return nil, err
		}
		o := s.options(zap.NewNop())
		o.Log, o.Control = nil, nil
		return o, nil
	},
		"-a", "/a b* --topic /c", "-e /a.* -x /ab", "-x /a", "--type a/B --node /n --node-publications /m", "-a --params --summary always", "-a --summary never",
		"/t -l 3", "-a --expect /imu=100 --expect /c/**=1..2.5", "-a --max-rate /b=2.5 --max-rate /abc=1 --every /c=3 --count /d=9", "-a -o x", "-a -O x", "-a --name-template x_%Y --file-mode 0644",
		"-a --split --size 10", "-a --split=7", "--split 7 /t", "-a --size 5", "-a --split --duration 1.5m", "-a --split-at 10m", "-a --repeat-latched", "-a --no-repeat-latched",
		"-a --min-space 5k", "-a --min-space 0", "-a --split --max-splits 3 --max-bytes 20G --max-age 10h --keep-free 500M", "-a --max-splits 3", "-a --recover",
		"-a -j --adaptive", "-a --lz4", "-a --chunksize 0", "-a --chunksize 10", "-a -b 0", "-a -b 7", "-a --overflow block", "-a --flush-interval 20ms", "-a --sync none", "-a --sync chunk",
		"-a --snapshot --pre-roll 5 --post-roll 1m --snapshot-bytes 10M", "-a --snapshot-beside", "-a --paused", "-a --stopped", "-a --start-on topic=='/a'",
		"-a -p --tcpnodelay --udp", "-a -q", "--config testdata/all.yaml",
	)
}

func TestReference(t *testing.T) {
	t.Parallel()
	described.CheckReference(t)
	described.CheckVariables(t)
}

// TestExample loads the file that is installed.
func TestExample(t *testing.T) {
	t.Parallel()
	against := map[string]string{"topics": "all", "output_prefix": "name_template"}
	described.CheckExample(t, against, map[string]string{"pre_roll": "snapshot_beside"})
}
