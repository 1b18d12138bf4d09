import time, numpy as np, torch, cupy, prism
from prism.kernels.hgemm import Configuration as C
t0=time.time(); bad=0
gm=prism.lib.grouped_matmul
rng=np.random.default_rng(0)
def check(name, ok):
    global bad
    if not bool(ok): bad+=1
    print(name, "right" if ok else "WRONG", round(time.time()-t0,1), flush=True)
def small(*s,dt=torch.bfloat16): return torch.tensor(rng.integers(-2,3,s),device="cuda").to(dt)
def want(a,w,o):
    r=torch.zeros(a.shape[0],w.shape[2],device="cuda")
    for g in range(w.shape[0]): r[o[g]:o[g+1]]=a[o[g]:o[g+1]].float()@w[g].float()
    return r
for lens,k,n in (((5,0,70,1,64,300,128),200,136),((0,0,0,700),64,520),((3,1,0,2),1000,1032),((1000,1,2000),72,264),((7,9),8,8),((130,5),72,77)):
    o=np.concatenate([[0],np.cumsum(lens)]); m=int(o[-1]); od=torch.tensor(o,device="cuda",dtype=torch.int32)
    for dt in (torch.bfloat16, torch.float16):
        a=small(m+9,k,dt=dt); w=small(len(lens),k,n,dt=dt); wt=w.transpose(1,2).contiguous().transpose(1,2)
        a[m:]=float("nan"); r=want(a,w,o)
        for b in (w,wt):
            out=torch.full((m+9,n),77.0,device="cuda",dtype=dt)
            gm(a,b,od,out=out); check(f"{lens} {k} {n} {dt} {'nn' if b is w else 'nt'}", torch.equal(out[:m].float(),r[:m].to(dt).float()) and bool((out[m:]==77).all()))
        x=gm(a,wt,od[1:],out_dtype="float32"); check("  ends, f32", torch.equal(x[:m],r[:m]))
        x=gm(a,wt,od.long(),epilogue=lambda s,i: s*i, extra=2.0); check("  number", torch.equal(x[:m].float(),(2*r[:m]).to(dt).float()))
o=np.array([0,5,5,75,75,300,900]); od=torch.tensor(o,device="cuda"); a=small(900,136); w=small(6,136,520); bias=small(6,1,520); s=small(900,1).float(); res=small(900,520)
r=want(a,w,o); bb=torch.cat([bias[g].expand(int(o[g+1]-o[g]),-1) for g in range(6)]).float()
check("epilogue", torch.equal(gm(a,w,od,epilogue=lambda x,b,s,r: max(x+b,0.0)*s+r,extra=(bias,s,res)).float(), (torch.relu(r+bb)*s+res.float()).bfloat16().float()))
for bad_o in ([0,700,5,99,200,5000,-4],[-5,10,3,50,60,70,90],[500,20,600,75,1,2,3]):
    e=np.maximum.accumulate(np.clip(np.array(bad_o),0,900)); out=torch.full((900,520),77.0,device="cuda",dtype=torch.bfloat16); gm(a,w,torch.tensor(bad_o,device="cuda"),out=out)
    r=torch.full((900,520),77.0,device="cuda")
    for g in range(6): r[e[g]:e[g+1]]=a[e[g]:e[g+1]].float()@w[g].float()
    check(f"offsets {bad_o}", torch.equal(out.float(), r.bfloat16().float()))
for k in (136,64,1000):
    x=small(500,k); ix=torch.tensor(rng.integers(0,500,900),device="cuda",dtype=torch.int32); w=small(6,k,520); r=want(x[ix.long()],w,o)
    check(f"gathered {k}", torch.equal(gm(x,w,od,rows=ix).float(), r.bfloat16().float()) and torch.equal(gm(x,w.transpose(1,2).contiguous().transpose(1,2),od,rows=ix.long()).float(), r.bfloat16().float()))
ix[5]=10**6; ix[6]=-3; r=want(x[ix.long().clamp(0,499)],w,o); check("gathered outside", torch.equal(gm(x,w,od,rows=ix).float(), r.bfloat16().float()))
u=small(6,1000,520); x=small(900,1000); r=want(x,w,o)*want(x,u,o)
check("pair", torch.equal(gm(x,(w,u),od,epilogue=lambda s,t: s*t).float(), r.bfloat16().float()))
wu=torch.cat([w.transpose(1,2),u.transpose(1,2)],1).contiguous()
check("pair halves", torch.equal(gm(x,(wu[:,:520].transpose(1,2),wu[:,520:].transpose(1,2)),od,epilogue=lambda s,t: s*t).float(), r.bfloat16().float()))
check("pair gathered", torch.equal(gm(x,(w,u),od,rows=torch.arange(899,-1,-1,device="cuda"),epilogue=lambda s,t: s*t).float(), (want(x.flip(0),w,o)*want(x.flip(0),u,o)).bfloat16().float()))
c=torch.tensor([3,0,70,999,-4],device="cuda",dtype=torch.int32); a3=small(5,200,136); w=small(5,136,264); out=torch.full((5,200,264),77.0,device="cuda",dtype=torch.bfloat16); gm(a3,w,counts=c,out=out)
r=torch.full((5,200,264),77.0,device="cuda")
for g in range(5):
    q=max(0,min(200,int(c[g]))); r[g,:q]=a3[g,:q].float()@w[g].float()
check("masked", torch.equal(out.float(), r.bfloat16().float()))
o=np.array([0,5,5,300,301,1000]); od=torch.tensor(o,device="cuda"); x=small(1010,264); y=small(1010,392); x[1000:]=float("nan"); y[1000:]=float("inf")
g=gm(x.T,y,od,out_dtype="float32"); check("along k", all(torch.equal(g[i],x[o[i]:o[i+1]].float().T@y[o[i]:o[i+1]].float()) for i in range(5)))
ca=cupy.asarray(a.float().cpu().numpy().astype(np.float16)); cw=cupy.asarray(small(6,136,520).float().cpu().numpy().astype(np.float16)); o=np.array([0,5,5,75,75,300,900])
got=gm(ca,cw,cupy.asarray(o)); check("cupy", all(bool((got[o[i]:o[i+1]].astype(cupy.float32)==(ca[o[i]:o[i+1]].astype(cupy.float32)@cw[i].astype(cupy.float32)).astype(cupy.float16)).all()) for i in range(6)))
a8=small(300,144).to(torch.float8_e4m3fn); w8=small(3,264,144).to(torch.float8_e4m3fn).transpose(1,2); o=np.array([0,100,101,300])
got=gm(a8,w8,torch.tensor(o,device="cuda")); check("e4m3", torch.equal(got, want(a8.float(),w8.float(),o)))
gr=torch.cuda.CUDAGraph(); a=small(900,136); w=small(6,136,520); o=np.array([0,5,5,75,75,300,900]); od=torch.tensor(o,device="cuda"); out=torch.zeros(900,520,device="cuda",dtype=torch.bfloat16); gm(a,w,od,out=out); torch.cuda.synchronize()
with torch.cuda.graph(gr): gm(a,w,od,out=out)
o2=np.array([0,200,205,205,500,800,900]); od.copy_(torch.tensor(o2)); gr.replay(); torch.cuda.synchronize(); check("graph", torch.equal(out.float(), want(a,w,o2).bfloat16().float()))
print("bad", bad)
