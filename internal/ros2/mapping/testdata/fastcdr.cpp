// Writes messages with Fast-CDR. Each line of the input is a value: its width in bytes and
// its bits as a number, or s and the bytes of a string in hexadecimal. A line with a dot
// ends a message, which is printed in hexadecimal.
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include <fastcdr/Cdr.h>
#include <fastcdr/FastBuffer.h>

using eprosima::fastcdr::Cdr;
using eprosima::fastcdr::FastBuffer;

int main() {
  std::vector<char> memory(1 << 20, 0x5a);
  FastBuffer buffer(memory.data(), memory.size());
  std::string line;
  while (true) {
    Cdr cdr(buffer, Cdr::LITTLE_ENDIANNESS, Cdr::DDS_CDR);
    cdr.serialize_encapsulation();
    while (true) {
      if (!std::getline(std::cin, line)) return 0;
      if (line == ".") break;
      if (line.empty()) continue;
      std::istringstream words(line);
      std::string what, text;
      words >> what;
      if (what == "s") {
        words >> text;
        std::string s;
        for (size_t i = 0; i + 1 < text.size(); i += 2) s += static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16));
        cdr.serialize(s);
        continue;
      }
      uint64_t bits = 0;
      words >> bits;
      switch (what[0]) {
        case '1': cdr.serialize(static_cast<uint8_t>(bits)); break;
        case '2': cdr.serialize(static_cast<uint16_t>(bits)); break;
        case '4': cdr.serialize(static_cast<uint32_t>(bits)); break;
        case '8': cdr.serialize(bits); break;
      }
    }
    for (size_t i = 0; i < cdr.getSerializedDataLength(); i++) std::printf("%02x", static_cast<unsigned char>(memory[i]));
    std::printf("\n");
  }
}
