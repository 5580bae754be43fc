#!/usr/bin/env python3
"""Makes cases of Gradient: random graphs in double, expected values by central differences. Needs onnx; those kept in
the tree are test/onnx/training/gradient_*.

    scripts/make_gradient_cases.py OUT [--all]
"""
import sys,os,shutil,numpy as np,onnx
from onnx import helper as h,numpy_helper as nh,TensorProto as T
from onnx.reference import ReferenceEvaluator as RE
out=sys.argv[1]; rng=np.random.default_rng(1)
KEPT='tanh sigmoid softmax logsoftmax mul div max pow matmul matvec gemm_01 reducemean_0 reducel2_1 reducelogsumexp_0 reducemax_1 move gather other_point inner'.split()
def case(name,nodes,xs,y,feeds,inits=(),subst=None):
    if '--all' not in sys.argv and name not in KEPT: return
    fi=[h.make_tensor_value_info(k,T.DOUBLE,v.shape) for k,v in feeds.items()]
    fm=h.make_model(h.make_graph(nodes,'f',fi,[h.make_tensor_value_info(y,T.DOUBLE,None)],[nh.from_array(v,k) for k,v in inits]),opset_imports=[h.make_opsetid('',21)],ir_version=10)
    ev=RE(fm); f=lambda fd: float(np.sum(ev.run(None,fd)[0]))
    base=dict(feeds); feeds2=dict(feeds)
    if subst:
        feeds2={**feeds,**{k+'_2':v for k,v in subst.items()}}; base={**feeds,**subst}
    gs=[]
    for x in xs:
        g=np.zeros_like(feeds[x])
        for i in np.ndindex(g.shape):
            e=1e-6; p={k:v.copy() for k,v in base.items()}; p[x][i]+=e; q={k:v.copy() for k,v in base.items()}; q[x][i]-=e
            g[i]=(f(p)-f(q))/(2*e)
        gs.append(g)
    gi=[(x+'_2' if subst and x in subst else x) for x in xs]
    nn=nodes+[h.make_node('Gradient',gi,['d_'+x for x in xs],domain='ai.onnx.preview.training',xs=xs,y=y)]
    m=h.make_model(h.make_graph(nn,name,[h.make_tensor_value_info(k,T.DOUBLE,v.shape) for k,v in feeds2.items()],[h.make_tensor_value_info('d_'+x,T.DOUBLE,feeds[x].shape) for x in xs],[nh.from_array(v,k) for k,v in inits]),opset_imports=[h.make_opsetid('',21),h.make_opsetid('ai.onnx.preview.training',1)],ir_version=10)
    d=f'{out}/gradient_{name}'; shutil.rmtree(d,ignore_errors=True); os.makedirs(d+'/test_data_set_0'); open(d+'/model.onnx','wb').write(m.SerializeToString())
    for i,v in enumerate(feeds2.values()): open(f'{d}/test_data_set_0/input_{i}.pb','wb').write(nh.from_array(v).SerializeToString())
    for i,v in enumerate(gs): open(f'{d}/test_data_set_0/output_{i}.pb','wb').write(nh.from_array(v).SerializeToString())
    open(d+'/data.json','w').write('{"rtol":1e-4,"atol":1e-6}')
R=lambda *s:rng.standard_normal(s)
N=h.make_node
for op in 'Neg Exp Sin Cos Tan Tanh Sigmoid Relu Softplus Softsign Abs Sinh Cosh Asinh Atan Erf Elu LeakyRelu Gelu Softmax LogSoftmax'.split():
    case(op.lower(),[N(op,['a'],['t']),N('Mul',['t','w'],['y'])],['a'],'y',{'a':R(2,3),'w':R(2,3)})
for op in ('Log','Sqrt','Reciprocal'): case(op.lower(),[N(op,['a'],['y'])],['a'],'y',{'a':np.abs(R(2,3))+.5})
for op in ('Asin','Acos','Atanh'): case(op.lower(),[N(op,['a'],['y'])],['a'],'y',{'a':np.tanh(R(2,3))*.7})
for op in ('Add','Sub','Mul','Div','Max','Min'): case(op.lower(),[N(op,['a','b'],['t']),N('Mul',['t','t'],['y'])],['a','b'],'y',{'a':R(2,3),'b':R(3)})
case('pow',[N('Pow',['a','b'],['y'])],['a','b'],'y',{'a':np.abs(R(2,3))+.5,'b':R(2,1)})
case('matmul',[N('MatMul',['a','b'],['t']),N('Tanh',['t'],['y'])],['a','b'],'y',{'a':R(2,3,4),'b':R(4,5)})
case('matvec',[N('MatMul',['a','b'],['t']),N('Tanh',['t'],['y'])],['a','b'],'y',{'a':R(3,4),'b':R(4)})
case('vecmat',[N('MatMul',['a','b'],['t']),N('Tanh',['t'],['y'])],['a','b'],'y',{'a':R(4),'b':R(4,3)})
for ta in (0,1):
  for tb in (0,1): case(f'gemm_{ta}{tb}',[N('Gemm',['a','b','c'],['t'],transA=ta,transB=tb,alpha=.5,beta=2.),N('Tanh',['t'],['y'])],['a','b','c'],'y',{'a':R(*((4,3) if ta else (3,4))),'b':R(*((5,4) if tb else (4,5))),'c':R(5)})
ax=[('ax',np.array([1]))]
for op in ('ReduceSum','ReduceMean','ReduceL1','ReduceL2','ReduceSumSquare','ReduceLogSumExp','ReduceMax','ReduceMin'):
  for kd in (0,1): case(f'{op.lower()}_{kd}',[N(op,['a','ax'],['t'],keepdims=kd),N('Mul',['t','t'],['y'])],['a'],'y',{'a':R(2,3,4)},ax)
case('reduce_all',[N('ReduceMean',['a'],['t'],keepdims=0),N('Mul',['t','t'],['y'])],['a'],'y',{'a':R(2,3)})
case('move',[N('Reshape',['a','s'],['t']),N('Transpose',['t'],['u'],perm=[1,0]),N('Unsqueeze',['u','z'],['v']),N('Concat',['v','b'],['w'],axis=1),N('Mul',['w','c'],['y'])],['a','b'],'y',{'a':R(2,3,2),'b':R(1,2,4),'c':R(1,5,4)},[('s',np.array([4,3])),('z',np.array([0]))])
case('gather',[N('Gather',['a','i'],['t']),N('Mul',['t','t'],['y'])],['a'],'y',{'a':R(4,3)},[('i',np.array([[0,2],[2,1]]))])
case('other_point',[N('Mul',['a','b'],['t']),N('Sin',['t'],['y'])],['a'],'y',{'a':R(2,3),'b':R(2,3)},(),{'a':R(2,3)})
case('inner',[N('Exp',['a'],['t']),N('Sin',['t'],['y'])],['a'],'y',{'a':R(2,3)})
