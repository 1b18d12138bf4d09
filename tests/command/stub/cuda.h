// As much of the driver's header as a launch header needs.
#pragma once
struct alignas(64) CUtensorMap {
    unsigned long long opaque[16];
};
