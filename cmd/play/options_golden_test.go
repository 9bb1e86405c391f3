package main

import (
	"strings"
	"testing"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/bags"
)

// TestPages compares the help, the manual page and the printed configuration.
func TestPages(t *testing.T) {
	t.Parallel()
	described.CheckPages(t,
		"x.bag --print-config", "x.bag y.bag --print-config --loop --http=:0 --http-token=0123456789abcdef0123 --end @5 -s 1 -u 1m --embedded-master",
		"--config testdata/all.yaml --print-config",
	)
}

// TestAbbreviations compares what each abbreviation of each option means.
func TestAbbreviations(t *testing.T) {
	t.Parallel()
	described.CheckAbbreviations(t)
}

// TestMeanings compares what options set in the options of the player.
func TestMeanings(t *testing.T) {
	t.Parallel()
	bag := "../../bagfmt/testdata/cpp_lz4.bag"
	opened, err := open(t.Context(), new(strings.Builder), zap.NewNop(), []string{bag}, bags.Options{})
	if err != nil {
		t.Fatal(err)
	}
	described.CheckMeanings(t, func(args []string) (any, error) {
		s, err := parse(args)
		if err != nil {
			return nil, err
		}
		o, err := s.options(opened, zap.NewNop())
		if err != nil {
			return nil, err
		}
		o.Bags, o.Log = nil, nil
		return o, nil
	},
		"x.bag", "--topics /a b* --bags x.bag", "--type a/B -x /b --deny /c x.bag", "-e -x /b.* x.bag", "x.bag -s 1 -u 2", "x.bag --until 1", "x.bag -s 0.5 --end 1", "x.bag -s 2",
		"x.bag --order header --order-reach 5", "x.bag --rename /a=/b --rename /c=/d -p /x", "x.bag --deny /a", "x.bag --link-timeout 0 --wait-for-subscribers --wait-for /a --wait-timeout 5",
		"x.bag -d 1.5 --pause", "x.bag -r 2.5 -i -k --queue 0", "x.bag -l", "x.bag --loop=shift", "x.bag --skip-empty 2 --pause-topics /a /b --overflow block", "x.bag --overflow drop",
		"x.bag --stamps now --clock", "x.bag --stamps clock", "x.bag --clock --hz 10 --clock-topics /a --clock-topics b --clock-per-message",
		"x.bag --rate-control-topic /a --rate-control-max-delay 3", "x.bag -q", "--config testdata/all.yaml",
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
	described.CheckExample(t, nil, nil)
}
