"""The machines that `make` writes, after public descriptions of them. Cores are fewer than in the real machines,
so that the files stay small; packages, NUMA domains, caches and PCI devices are as described."""

NVIDIA_A100 = "0302 [10de:20b0] [10de:1463] a1"
NVIDIA_H100 = "0302 [10de:2330] [10de:16c1] a1"
NVIDIA_V100 = "0302 [10de:1db1] [10de:1212] a1"
NVIDIA_GH200 = "0302 [10de:2342] [10de:16eb] a1"
AMD_MI250X = "0380 [1002:7408] [1002:0b0c] 00"
AMD_MI300A = "1200 [1002:74a0] [1002:74a0] 00"
INTEL_PVC = "0380 [8086:0bd5] [8086:0000] 2f"
CONNECTX = "0207 [15b3:101b] [15b3:0007] 00"
CONNECTX_ETHERNET = "0200 [15b3:101d] [15b3:0016] 00"
CASSINI = "0200 [17db:0501] [17db:0000] 02"
OMNI_PATH = "0208 [8086:24f0] [8086:24f0] 11"
INTEL_ETHERNET = "0200 [8086:1563] [8086:0000] 01"
ASPEED = "0300 [1a03:2000] [1a03:2000] 41"
NVME = "0108 [144d:a80a] [144d:a801] 00"
VIRTIO_NET = "0200 [1af4:1041] [1af4:1100] 01"


def machines(make):
    B, F, Object, regular, Xml, Sys = make.Bridge, make.Function, make.Object, make.regular, make.Xml, make.Sys
    made = {}

    def host(object, *bridges):
        object.io += bridges
        return object

    def cuda(number, id, type, **more):
        names = [("coproc", f"cuda{number}", "CUDA"), ("gpu", f"nvml{number}", "NVML")]
        return F(id, type, *names, **more)

    def rsmi(number, id, type):
        return F(id, type, ("gpu", f"card{number + 1}"), ("gpu", f"rsmi{number}", "RSMI"), ("gpu", f"renderD{128 + number}"))

    def mlx(number, id, type=CONNECTX, net=None, **more):
        names = [("fabric", f"mlx5_{number}")] + ([("net", net)] if net else [])
        return F(id, type, *names, **more)

    def cxi(number, id):
        return F(id, CASSINI, ("net", f"hsn{number}"), ("fabric", f"cxi{number}"))

    def ethernet(name, id, type=INTEL_ETHERNET, **more):
        return F(id, type, ("net", name), **more)

    # Processors.
    made["xeon-snc2.xml"] = Xml(regular([("Package", 2), ("NUMA", 2), ("Core", 4), ("PU", 2)], "apart"), 2)
    made["epyc-nps4.xml"] = Xml(regular([("Package", 2), ("NUMA", 4), ("L3Cache", 2), ("Core", 2)]), 2)
    made["epyc-nps1.xml"] = Xml(regular([("Package", 1), ("NUMA", 1), ("L3Cache", 8), ("Core", 2), ("PU", 2)], "apart"), 2)
    made["epyc-l3-as-numa.xml"] = Xml(regular([("Package", 2), ("NUMA", 4), ("L3Cache", 1), ("Core", 3)]), 2)
    made["power9-smt4.xml"] = Xml(regular([("Package", 2), ("NUMA", 1), ("L3Cache", 3), ("L2Cache", 1), ("Core", 2), ("PU", 4)]), 2)
    made["power10-smt8.xml"] = Xml(regular([("Package", 1), ("NUMA", 2), ("L3Cache", 2), ("Core", 1), ("PU", 8)]), 2)
    made["a64fx.xml"] = Xml(regular([("Package", 1), ("NUMA", 4), ("L2Cache", 1), ("Core", 12)]), 2)
    made["arm-32core.xml"] = Xml(regular([("Package", 1), ("NUMA", 1), ("L3Cache", 1), ("L2Cache", 32), ("Core", 1)]), 2)
    made["cascade-lake-2die.xml"] = Xml(regular([("Package", 2), ("Die", 2), ("NUMA", 1), ("Core", 4), ("PU", 2)], "apart"), 2)
    made["4package.xml"] = Xml(regular([("Package", 4), ("NUMA", 1), ("L3Cache", 1), ("Core", 4)]), 2)
    made["8package-in-pairs.xml"] = Xml(regular([("Group", 4), ("Package", 2), ("NUMA", 1), ("Core", 2)]), 2)
    made["vm-1core.xml"] = Xml(regular([("Package", 1), ("Core", 1)]), 2)
    made["vm-8package-1core.xml"] = Xml(regular([("Package", 8), ("L3Cache", 1), ("Core", 1)]), 2)
    made["vm-bare-4pu.xml"] = Xml(regular([("PU", 4)]), 2)
    made["hwloc1-4socket-smt2.xml"] = Xml(regular([("Package", 4), ("NUMA", 1), ("L3Cache", 1), ("Core", 2), ("PU", 2)], "apart"), 1)
    made["hwloc3-epyc.xml"] = Xml(regular([("Package", 2), ("NUMA", 1), ("L3Cache", 3), ("Core", 2), ("PU", 2)], "apart"), 3)

    # Two kinds of cores: large ones with two threads and an L2 cache each, small ones with four to an L2 cache.
    def hybrid():
        large = [Object("L2Cache", k, children=[Object("Core", k, children=[Object("PU", 2 * k + t, [2 * k + t]) for t in (0, 1)])]) for k in range(4)]
        small = [Object("L2Cache", 4 + k, children=[Object("Core", 4 + 4 * k + c, children=[Object("PU", 8 + 4 * k + c, [8 + 4 * k + c])]) for c in range(4)]) for k in range(2)]
        machine = Object("Machine", 0, children=[Object("Package", 0, children=[Object("L3Cache", 0, children=large + small)])])
        machine.memory.append(Object("NUMANode", 0))
        return machine

    kinds = '<cpukind cpuset="0x0000ff00" forced_efficiency="0"><info name="CoreType" value="IntelAtom"/></cpukind>\n  <cpukind cpuset="0x000000ff" forced_efficiency="1"><info name="CoreType" value="IntelCore"/></cpukind>'
    made["hybrid-4p-8e.xml"] = Xml(hybrid(), 2, kinds)
    made["sys-hybrid-4p-8e.sys"] = Sys(hybrid())
    little = '<cpukind cpuset="0x0000000f" forced_efficiency="0"/>\n  <cpukind cpuset="0x000000f0" forced_efficiency="1"/>'
    made["hybrid-big-little.xml"] = Xml(regular([("Package", 1), ("L2Cache", 2), ("Core", 4)]), 2, little)

    # Memory.
    knl = regular([("Package", 1), ("NUMA", 4), ("L2Cache", 2), ("Core", 2), ("PU", 4)])
    for k, group in enumerate(knl.below("Group")):
        group.memory.append(Object("NUMANode", 4 + k))
    made["knl-snc4-flat.xml"] = Xml(knl, 2)
    hbm = regular([("Package", 2), ("NUMA", 2), ("Core", 4)])
    for k, group in enumerate(hbm.below("Group")):
        group.memory.append(Object("NUMANode", 4 + k))
    made["xeon-max-hbm-flat.xml"] = Xml(hbm, 2)
    cxl = regular([("Package", 2), ("NUMA", 1), ("Core", 4)])
    cxl.below("Package")[0].memory.append(Object("NUMANode", 2))
    cxl.memory.append(Object("NUMANode", 3, attributes="none"))
    made["cxl-memory.xml"] = Xml(cxl, 2)
    host(cxl, B("0000:00", B("0000:00:01.0", F("0000:01:00.0", "0502 [1e98:0d93] [1e98:0000] 01", ("memory", "mem0", "CXLMem")))))
    made["hwloc3-cxl-memory.xml"] = Xml(cxl, 3)
    made["sys-cxl-memory.sys"] = Sys(cxl)

    # Parts of machines.
    def restricted(kept, levels, smt="together"):
        machine = regular(levels, smt)
        everything = list(machine.pus)

        def cut(object):
            object.complete = list(object.pus)
            object.pus = [pu for pu in object.pus if pu in kept]
            for child in object.children:
                cut(child)
            object.children = [child for child in object.children if child.pus]

        cut(machine)
        machine.complete = everything
        return machine

    packages = [("Package", 2), ("NUMA", 1), ("L3Cache", 2), ("Core", 4), ("PU", 2)]
    made["cgroup-5of32.xml"] = Xml(restricted({2, 3, 5, 18, 30}, packages, "apart"), 2)
    made["container-2of32.xml"] = Xml(restricted({7, 12}, packages, "apart"), 2)
    made["offline-threads.xml"] = Xml(restricted({0, 1, 2, 3, 4, 5, 6, 7, 8, 16, 17, 18}, [("Package", 2), ("NUMA", 1), ("Core", 4), ("PU", 2)], "apart"), 2)
    disallowed = regular(packages, "apart")
    disallowed.allowed = [0, 1, 16, 17]
    made["disallowed-4of32.xml"] = Xml(disallowed, 2)

    # NVIDIA DGX A100: each PCIe switch has two GPUs and two adapters; four domains of eight have a switch.
    def dgx_a100():
        machine = regular([("Package", 2), ("NUMA", 4), ("L3Cache", 2), ("Core", 2)])
        groups = machine.below("Group")
        # Domain, bus of the host bridge, buses of GPUs and adapters.
        for domain, bus, gpus, nics in [(3, 0x00, (0x07, 0x0F), (0x0C, 0x12)), (1, 0x40, (0x47, 0x4E), (0x4B, 0x54)), (7, 0x80, (0x87, 0x90), (0x8D, 0x94)), (5, 0xB0, (0xB7, 0xBD), (0xBA, 0xCC))]:
            order = {0x07: 0, 0x0F: 1, 0x47: 2, 0x4E: 3, 0x87: 4, 0x90: 5, 0xB7: 6, 0xBD: 7}
            mlx_of = {0x0C: 0, 0x12: 1, 0x4B: 2, 0x54: 3, 0x8D: 6, 0x94: 7, 0xBA: 8, 0xCC: 9}
            ports = []
            for k, gpu in enumerate(gpus):
                ports.append(B(f"0000:{bus + 2:02x}:{4 * k:02x}.0", cuda(order[gpu], f"0000:{gpu:02x}:00.0", NVIDIA_A100)))
                nic = nics[k]
                ports.append(B(f"0000:{bus + 2:02x}:{4 * k + 1:02x}.0", mlx(mlx_of[nic], f"0000:{nic:02x}:00.0", net=f"ib{mlx_of[nic]}")))
            host(groups[domain], B(f"0000:{bus:02x}", B(f"0000:{bus:02x}:01.1", B(f"0000:{bus + 1:02x}:00.0", *ports))))
        storage = [mlx(4, "0000:61:00.0", CONNECTX_ETHERNET, "enp97s0f0"), mlx(5, "0000:61:00.1", CONNECTX_ETHERNET, "enp97s0f1")]
        host(groups[1], B("0000:60", B("0000:60:03.1", *storage)))
        host(groups[0], B("0000:e0", B("0000:e0:05.1", B("0000:e1:00.0", F("0000:e2:00.0", ASPEED, ("gpu", "card0"))))))
        host(groups[4], B("0000:f0", B("0000:f0:01.1", ethernet("enp241s0", "0000:f1:00.0"))))
        return machine

    made["dgx-a100.xml"] = Xml(dgx_a100(), 2)
    made["sys-dgx-a100.sys"] = Sys(dgx_a100())

    # NVIDIA DGX H100: a switch for each pair of GPU and adapter below a switch for four; two storage adapters.
    def dgx_h100():
        machine = regular([("Package", 2), ("NUMA", 1), ("Core", 8)])
        number = 0
        for package, buses in zip(machine.below("Package"), [(0x15, 0x3A, 0x4D, 0x5D), (0x95, 0xBB, 0xCD, 0xDB)]):
            for bus in buses:
                switch = B(
                    f"0000:{bus + 1:02x}:00.0",
                    B(f"0000:{bus + 2:02x}:00.0", mlx(number + (number > 3), f"0000:{bus + 3:02x}:00.0")),
                    B(f"0000:{bus + 2:02x}:01.0", cuda(number, f"0000:{bus + 6:02x}:00.0", NVIDIA_H100)),
                    B(f"0000:{bus + 2:02x}:02.0", F(f"0000:{bus + 4:02x}:00.0", NVME, ("block", f"nvme{number}n1"))),
                )
                host(package, B(f"0000:{bus:02x}", B(f"0000:{bus:02x}:01.0", switch)))
                number += 1
            extra = [(4, "0000:29:00.0"), (9, "0000:a9:00.0")][number // 8]
            root = extra[1][5:7]
            host(package, B(f"0000:{int(root, 16) - 1:02x}", B(f"0000:{int(root, 16) - 1:02x}:02.0", mlx(*extra, CONNECTX_ETHERNET, f"enp{int(root, 16)}s0"))))
        return machine

    made["dgx-h100.xml"] = Xml(dgx_h100(), 2)
    made["hwloc3-dgx-h100.xml"] = Xml(dgx_h100(), 3)

    # NVIDIA DGX-1: two GPUs and an adapter on each switch.
    dgx1 = regular([("Package", 2), ("NUMA", 1), ("Core", 4), ("PU", 2)], "apart")
    for k, bus in enumerate([0x00, 0x20, 0x80, 0xA0]):
        gpus = [B(f"0000:{bus + 3:02x}:{4 + g:02x}.0", cuda(2 * k + g, f"0000:{bus + 6 + g:02x}:00.0", NVIDIA_V100)) for g in (0, 1)]
        nic = B(f"0000:{bus + 3:02x}:00.0", mlx(k, f"0000:{bus + 5:02x}:00.0"))
        host(dgx1.below("Package")[k // 2], B(f"0000:{bus:02x}", B(f"0000:{bus:02x}:02.0", B(f"0000:{bus + 2:02x}:00.0", nic, *gpus))))
    made["dgx-1-v100.xml"] = Xml(dgx1, 2)

    # Switches below switches: the adapter of the second switch is further away.
    cascade = regular([("Package", 1), ("NUMA", 1), ("Core", 8)])
    second = B("0000:02:03.0", B("0000:05:00.0", B("0000:06:00.0", cuda(1, "0000:07:00.0", NVIDIA_A100)), B("0000:06:01.0", cuda(2, "0000:08:00.0", NVIDIA_A100))))
    switch = B("0000:01:00.0", B("0000:02:00.0", cuda(0, "0000:03:00.0", NVIDIA_A100)), B("0000:02:01.0", mlx(0, "0000:04:00.0")), second)
    host(cascade, B("0000:00", B("0000:00:01.0", switch), B("0000:00:02.0", mlx(1, "0000:0a:00.0"))))
    made["switch-below-switch.xml"] = Xml(cascade, 2)

    # AMD MI250X as in Frontier: four adapters, each behind the switch of a module of two GPUs.
    def mi250x():
        machine = regular([("Package", 1), ("NUMA", 4), ("L3Cache", 2), ("Core", 4), ("PU", 2)], "apart")
        groups = machine.below("Group")
        places = [(3, 0xC0, (0, 1), 0), (1, 0xD4, (2, 3), 1), (0, 0xC8, (4, 5), 2), (2, 0xDC, (6, 7), 3)]
        for domain, bus, gpus, nic in places:
            ports = [
                B(f"0000:{bus + 2:02x}:00.0", rsmi(gpus[0], f"0000:{bus + 3:02x}:00.0", AMD_MI250X)),
                B(f"0000:{bus + 2:02x}:01.0", rsmi(gpus[1], f"0000:{bus + 4:02x}:00.0", AMD_MI250X)),
                B(f"0000:{bus + 2:02x}:02.0", cxi(nic, f"0000:{bus + 5:02x}:00.0")),
            ]
            host(groups[domain], B(f"0000:{bus:02x}", B(f"0000:{bus:02x}:01.1", B(f"0000:{bus + 1:02x}:00.0", *ports))))
        return machine

    made["mi250x-4nic.xml"] = Xml(mi250x(), 2)
    made["sys-mi250x-4nic.sys"] = Sys(mi250x())

    # AMD MI300A: four APUs, each a package with a GPU and an adapter.
    def mi300a():
        machine = regular([("Package", 4), ("NUMA", 1), ("L3Cache", 3), ("Core", 2)])
        for k, package in enumerate(machine.below("Package")):
            gpu = B(f"000{k}:00:01.1", rsmi(k, f"000{k}:01:00.0", AMD_MI300A))
            nic = B(f"000{k}:00:03.1", cxi(k, f"000{k}:91:00.0"))
            host(package, B(f"000{k}:00", gpu, nic))
        return machine

    made["mi300a-4apu.xml"] = Xml(mi300a(), 2)
    made["sys-mi300a-4apu.sys"] = Sys(mi300a())

    # NVIDIA Grace Hopper: the memory of the GPU is a NUMA node without PUs; each function has a domain of its own.
    def grace_hopper(modules, nic):
        machine = regular([("Package", modules), ("NUMA", 1), ("L3Cache", 1), ("Core", 8)])
        for k, package in enumerate(machine.below("Package")):
            domain = 9 + 0x10 * k
            machine.memory.append(Object("NUMANode", modules + k, attributes="none"))
            host(package, B(f"{domain:04x}:00", B(f"{domain:04x}:00:00.0", cuda(k, f"{domain:04x}:01:00.0", NVIDIA_GH200))))
            host(package, B(f"{domain - 9:04x}:00", B(f"{domain - 9:04x}:00:00.0", nic(k, f"{domain - 9:04x}:01:00.0"))))
        return machine

    made["grace-hopper.xml"] = Xml(grace_hopper(1, mlx), 2)
    made["grace-hopper-4.xml"] = Xml(grace_hopper(4, cxi), 2)

    # Intel Data Center GPU Max as in Aurora: six GPUs and eight adapters; high-bandwidth memory on each package.
    aurora = regular([("Package", 2), ("NUMA", 1), ("Core", 6), ("PU", 2)], "apart")
    for k, package in enumerate(aurora.below("Package")):
        package.memory.append(Object("NUMANode", 2 + k))
        for g in range(3):
            bus = 0x15 + 0x80 * k + 0x15 * g
            number = 3 * k + g
            tiles = [("coproc", f"ze{number}", "LevelZero"), ("coproc", f"ze{number}.0", "LevelZero"), ("coproc", f"ze{number}.1", "LevelZero"), ("gpu", f"card{number}"), ("gpu", f"renderD{128 + number}")]
            host(package, B(f"0000:{bus:02x}", B(f"0000:{bus:02x}:01.0", B(f"0000:{bus + 1:02x}:00.0", B(f"0000:{bus + 2:02x}:01.0", F(f"0000:{bus + 3:02x}:00.0", INTEL_PVC, *tiles))))))
        nics = [B(f"0000:{0x02 + 0x80 * k:02x}:0{n + 1}.0", cxi(4 * k + n, f"0000:{0x05 + 0x80 * k + n:02x}:00.0")) for n in range(4)]
        host(package, B(f"0000:{0x02 + 0x80 * k:02x}", *nics))
    made["pvc-6gpu-8nic.xml"] = Xml(aurora, 2)

    # POWER9 with V100 on NVLink as in Summit: one card of two ports that both packages reach by a function of their own.
    summit = regular([("Package", 2), ("NUMA", 1), ("Core", 4), ("PU", 4)])
    for k, package in enumerate(summit.below("Package")):
        for g in range(3):
            bus = 4 + g
            summit.memory.append(Object("NUMANode", 250 - 3 * k - g, attributes="none"))
            host(package, B(f"000{4 + k}:00" if g == 0 else f"001{3 * k + g}:00", B(f"000{4 + k}:00:00.0" if g == 0 else f"001{3 * k + g}:00:00.0", cuda(3 * k + g, f"000{4 + k}:0{bus}:00.0" if g == 0 else f"001{3 * k + g}:0{bus}:00.0", NVIDIA_V100))))
        ports = [mlx(2 * k + p, f"003{k * 3}:01:00.{p}") for p in (0, 1)]
        host(package, B(f"003{k * 3}:00", B(f"003{k * 3}:00:00.0", *ports)))
    made["power9-6gpu-4port.xml"] = Xml(summit, 2)

    # A workstation: GPUs at root ports, one adapter; the display of the management controller.
    station = regular([("Package", 2), ("NUMA", 1), ("Core", 4)])
    first, second = station.below("Package")
    host(first, B("0000:00", B("0000:00:01.0", cuda(0, "0000:01:00.0", NVIDIA_V100)), B("0000:00:02.0", mlx(0, "0000:02:00.0")), F("0000:00:1f.0", ASPEED, ("gpu", "card0"))))
    host(first, B("0000:40", B("0000:40:01.0", cuda(1, "0000:41:00.0", NVIDIA_V100))))
    host(second, B("0000:80", B("0000:80:01.0", cuda(2, "0000:81:00.0", NVIDIA_V100)), B("0000:80:02.0", F("0000:82:00.0", NVIDIA_V100))))
    made["4gpu-1nic.xml"] = Xml(station, 2)

    # Adapters.
    two = [("Package", 2), ("NUMA", 1), ("Core", 4)]
    omni = regular(two)
    for k, package in enumerate(omni.below("Package")):
        host(package, B(f"0000:{0x5d + 0x60 * k:02x}", B(f"0000:{0x5d + 0x60 * k:02x}:00.0", F(f"0000:{0x5e + 0x60 * k:02x}:00.0", OMNI_PATH, ("net", f"ib{k}"), ("fabric", f"hfi1_{k}")))))
    made["omni-path-2.xml"] = Xml(omni, 2)
    made["hwloc1-omni-path-2.xml"] = Xml(omni, 1)
    only = regular(two)
    host(only.below("Package")[0], B("0000:17", B("0000:17:00.0", ethernet("eno1", "0000:18:00.0"), ethernet("eno2", "0000:18:00.1"))))
    host(only.below("Package")[1], B("0000:ae", B("0000:ae:00.0", ethernet("ens3f0", "0000:af:00.0"))))
    made["ethernet-3.xml"] = Xml(only, 2)
    card = regular(two)
    host(card.below("Package")[1], B("0000:ae", B("0000:ae:00.0", mlx(0, "0000:af:00.0", net="ib0"), mlx(1, "0000:af:00.1", net="ib1"))))
    host(card.below("Package")[0], B("0000:00", B("0000:00:1c.0", ethernet("eno1", "0000:02:00.0"))))
    small = regular([("Package", 2), ("NUMA", 1), ("Core", 1)])
    for k, package in enumerate(small.below("Package")):
        host(package, B(f"0000:{k}0", B(f"0000:{k}0:01.0", mlx(k, f"0000:{k}1:00.0")), B(f"0000:{k}0:02.0", cuda(k, f"0000:{k}2:00.0", NVIDIA_A100))))
    made["2core-2gpu-2nic.xml"] = Xml(small, 2)
    rails = regular([("Package", 2), ("NUMA", 1), ("Core", 1)])
    for k, package in enumerate(rails.below("Package")):
        host(package, B(f"0000:{k}0", *(B(f"0000:{k}0:0{at + 1}.0", mlx(2 * k + at, f"0000:{k}{at + 1}:00.0")) for at in (0, 1))))
    made["2core-4nic.xml"] = Xml(rails, 2)
    made["dual-port-card.xml"] = Xml(card, 2)

    def virtual(model):
        machine = regular([("Package", 1), ("NUMA", 1), ("Core", 4)])
        vf = "MT28908 Family [ConnectX-6 Virtual Function]"
        functions = [mlx(0, "0000:3b:00.0", model="MT28908 Family [ConnectX-6]")] if model else []
        link = ("physfn -> ../0000:3b:00.0",) if model else ()
        functions += [mlx(k, f"0000:3b:00.{k}", model=vf, files=link) for k in (1, 2, 3)]
        return host(machine, B("0000:3a", B("0000:3a:00.0", *functions)))

    made["virtual-functions-host.xml"] = Xml(virtual(True), 2)
    made["virtual-functions-guest.xml"] = Xml(virtual(False), 2)
    made["sys-virtual-functions-host.sys"] = Sys(virtual(True))
    pod = regular([("Package", 2), ("NUMA", 1), ("Core", 2)])
    for package, bus in zip(pod.below("Package"), ("3b", "af")):
        link = (f"physfn -> ../0000:{bus}:00.0",)
        functions = [mlx(k + (4 if bus == "af" else 0), f"0000:{bus}:00.{k}", model="MT28908 Family [ConnectX-6 Virtual Function]", files=link) for k in (1, 2)]
        host(package, B(f"0000:{bus[0]}0", B(f"0000:{bus[0]}0:00.0", F(f"0000:{bus}:00.0", CONNECTX), *functions)))
    made["sys-virtual-functions-pod.sys"] = Sys(pod)
    odd = regular([("Package", 1), ("NUMA", 1), ("Core", 4)])
    odd.io += [("coproc", "opencl0d0", "OpenCL"), ("net", "eth9"), ("fabric", "rxe0")]
    host(odd, B("0000:00", F("0000:00:02.0", ASPEED, ("gpu", "card0"), ("gpu", "renderD128")), F("0000:00:14.0", "0c03 [8086:a12f] [8086:0000] 31", ("net", "usb0")), F("0000:00:19.0", INTEL_ETHERNET), F("0000:00:1a.0", NVME, ("block", "nvme0n1"))))
    made["phantom-devices.xml"] = Xml(odd, 2)
    old = regular([("Package", 2), ("NUMA", 1), ("L3Cache", 1), ("Core", 4), ("PU", 2)], "apart")
    host(old.below("Package")[0], B("0000:00", B("0000:00:01.0", ethernet("eth0", "0000:01:00.0"), ethernet("eth1", "0000:01:00.1")), B("0000:00:03.0", F("0000:03:00.0", "0c06 [15b3:673c] [15b3:0022] b0", ("net", "ib0"), ("fabric", "mlx4_0")))))
    host(old.below("Package")[1], B("0000:80", B("0000:80:03.0", F("0000:84:00.0", "0302 [10de:1021] [10de:097d] a1", ("coproc", "cuda0", "CUDA")))))
    made["hwloc1-infiniband-gpu.xml"] = Xml(old, 1)

    # Listings of /sys.
    vm = regular([("Package", 1), ("NUMA", 1), ("L3Cache", 1), ("Core", 2)])
    vm.io += [B("0000:00", F("0000:00:03.0", VIRTIO_NET), F("0000:00:02.0", "0300 [1af4:1050] [1af4:1100] 01", ("gpu", "card0")))]
    net = "devices/pci0000:00/0000:00:03.0/virtio2/net/eth0"
    made["sys-vm-virtio.sys"] = Sys(vm, extra=[f"class/net/eth0 -> ../../{net}", f"{net}/operstate=up", "class/net/lo -> ../../devices/virtual/net/lo", "class/net/docker0 -> ../../devices/virtual/net/docker0"])
    container = regular(two)
    host(container.below("Package")[0], B("0000:5d", B("0000:5d:00.0", mlx(0, "0000:5e:00.0", files=("infiniband/mlx5_0/ports/1/state=1: DOWN",)))))
    made["sys-container.sys"] = Sys(container, online=range(8), extra=["class/net/lo -> ../../devices/virtual/net/lo", "class/net/eth0 -> ../../devices/virtual/net/eth0"])
    bare = regular([("PU", 4)])
    bare.memory.clear()
    made["sys-bare-4pu.sys"] = Sys(bare)
    made["sys-a64fx.sys"] = Sys(regular([("Package", 1), ("NUMA", 4), ("L2Cache", 1), ("Core", 12)]))
    made["sys-offline.sys"] = Sys(regular([("Package", 2), ("NUMA", 1), ("Core", 4), ("PU", 2)], "apart"), online=[0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    efa = regular([("Package", 2), ("NUMA", 1), ("Core", 4), ("PU", 2)], "apart")
    for k, package in enumerate(efa.below("Package")):
        bus = 0x10 + 0x90 * k
        functions = [F(f"0000:{bus:02x}:1b.0", "0200 [1d0f:efa1] [1d0f:efa1] 00", ("fabric", f"rdmap{bus}s27")), F(f"0000:{bus:02x}:1c.0", NVIDIA_A100), F(f"0000:{bus:02x}:1d.0", NVIDIA_A100)]
        host(package, B(f"0000:{bus:02x}", *functions))
    host(efa.below("Package")[0], B("0000:00", ethernet("ens5", "0000:00:05.0", "0200 [1d0f:ec20] [1d0f:ec20] 00")))
    made["sys-efa-4gpu.sys"] = Sys(efa, drivers=False)
    cloud = regular([("Package", 1), ("NUMA", 2), ("L3Cache", 2), ("Core", 2)])
    at = "devices/LNXSYSTM:00/LNXSYBUS:00/ACPI0004:00/VMBUS:00/00000101-0000-1000-8000-000000000000/pci0101:00/0101:00:00.0"
    made["sys-cloud-vmbus.sys"] = Sys(cloud, extra=[f"{at}/class=0x020700", f"{at}/vendor=0x15b3", f"{at}/numa_node=1", f"class/infiniband/mlx5_ib0 -> ../../{at}/infiniband/mlx5_ib0", f"{at}/infiniband/mlx5_ib0/ports/1/state=4: ACTIVE", f"bus/pci/devices/0101:00:00.0 -> ../../../{at}", "class/net/eth0 -> ../../devices/LNXSYSTM:00/LNXSYBUS:00/VMBUS:00/net/eth0"])
    return made
